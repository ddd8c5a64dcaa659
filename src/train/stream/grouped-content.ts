import { Buffer } from 'node:buffer';
import { createGroupRanges, type GroupRanges } from './byte-ranges.ts';
import { createChunkBatcher } from './chunk-batcher.ts';
import { createElementSelector } from './files-content.ts';
import type { Grouping } from './grouping.ts';
import { type ChunkSelector, readCheckedChunks, readSelectedChunks } from './select-chunks.ts';
import type { TextSource } from './text-source.ts';
import type { TrajectoryContent } from './trajectory-content.ts';

const comma = Buffer.from(',');
const groupOpen = Buffer.from('{"trajectories":[');
const groupClose = Buffer.from(']}');

/** Groups made of the single trajectories in some files, each trajectory byte for byte. */
export function groupedContent(sources: readonly TextSource[], grouping: Grouping): TrajectoryContent {
  const ranges = createGroupRanges();
  return {
    sources,
    isReordered: true,
    readFirst: async function* (checks) {
      for (const [at, source] of sources.entries())
        yield* readCheckedChunks(source, 'groups', checks, createIndexingSelector(ranges, at, grouping));
    },
    rereadArray: async function* () {
      const batcher = createChunkBatcher('sendable');
      for (let group = 0; group < grouping.groupCount(); group += 1) {
        yield group === 0 ? groupOpen : Buffer.concat([comma, groupOpen]);
        const select = createElementSelector();
        for (const { source, start, end } of ranges.rangesOf(group)) {
          const text = sources[source]?.readAgain(start, end);
          if (text) yield* readSelectedChunks(text, 'elements', select, batcher);
        }
        yield groupClose;
      }
    },
  };
}

// Elements of an array have a comma between them, so each is a range of its own.
function createIndexingSelector(ranges: GroupRanges, source: number, grouping: Grouping): ChunkSelector {
  let isAdjacent = false;
  return (event) => {
    if (event.kind !== 'trajectory') return [];
    const group = grouping.lastGroup();
    const { offset: start } = event.location;
    if (group !== undefined) ranges.add(group, { source, start, end: start + event.bytes.length }, isAdjacent);
    isAdjacent = group !== undefined && event.container === 'alone';
    return [];
  };
}
