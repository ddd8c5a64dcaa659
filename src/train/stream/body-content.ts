import { createChunkBatcher } from './chunk-batcher.ts';
import { createBodyTextCollector, createEnvelope, type Envelope, type TextPart } from './envelope.ts';
import { type ChunkSelector, readCheckedChunks } from './select-chunks.ts';
import type { TextSource } from './text-source.ts';
import type { TrajectoryContent } from './trajectory-content.ts';

/** The trajectories of a whole body, and the rest of it. */
export interface BodyContent extends TrajectoryContent {
  /** Everything but the groups, once all was read; empty if the source is empty. */
  readonly envelope: () => Envelope;
}

/** The groups of a whole body. `readFirst` yields the complete body. */
export function bodyContent(source: TextSource): BodyContent {
  const parts: TextPart[] = [];
  return {
    sources: [source],
    isReordered: false,
    readFirst: async function* (checks) {
      const collectText = createBodyTextCollector(parts);
      const select: ChunkSelector = (event) => {
        collectText(event);
        return 'bytes' in event ? [event.bytes] : [];
      };
      yield* readCheckedChunks(source, 'body', checks, select);
    },
    rereadArray: async function* (arrayIndex) {
      const before = parts[arrayIndex];
      const after = parts[arrayIndex + 1];
      if (!before || !after) return;
      const batcher = createChunkBatcher('sendable');
      for await (const chunk of source.readAgain(before.location.offset + before.bytes.length, after.location.offset))
        yield* batcher([chunk]);
    },
    envelope: () => createEnvelope(parts),
  };
}
