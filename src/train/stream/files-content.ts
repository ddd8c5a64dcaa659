import { Buffer } from 'node:buffer';
import { createChunkBatcher } from './chunk-batcher.ts';
import { type ChunkSelector, readCheckedChunks, readSelectedChunks } from './select-chunks.ts';
import type { TextSource } from './text-source.ts';
import type { TrajectoryContent } from './trajectory-content.ts';

/** The groups of some files in order, each byte for byte. */
export function filesContent(sources: readonly TextSource[]): TrajectoryContent {
  return {
    sources,
    isReordered: false,
    readFirst: async function* (checks) {
      const select = createElementSelector();
      for (const source of sources) yield* readCheckedChunks(source, 'groups', checks, select);
    },
    rereadArray: async function* () {
      const select = createElementSelector();
      const batcher = createChunkBatcher('sendable');
      for (const source of sources) yield* readSelectedChunks(source.readAgain(), 'elements', select, batcher);
    },
  };
}

const comma = Buffer.from(',');

/** Selects all bytes of each group, with commas between them. */
export function createElementSelector(): ChunkSelector {
  let isFirst = true;
  return (event) => {
    if ('bytes' in event) return [event.bytes];
    if (event.kind === 'end' || isFirst) {
      isFirst &&= event.kind === 'end';
      return [];
    }
    return [comma];
  };
}
