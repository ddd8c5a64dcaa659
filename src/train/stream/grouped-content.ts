import { Buffer } from 'node:buffer';
import { createGroupRanges, type GroupRanges } from './byte-ranges.ts';
import { createChunkBatcher } from './chunk-batcher.ts';
import { createElementSelector } from './files-content.ts';
import type { Grouping } from './grouping.ts';
import { type ChunkSelector, readCheckedChunks, readSelectedChunks } from './select-chunks.ts';
import type { TextSource } from './text-source.ts';
import { chunkLifetimeFor, type TrajectoryContent } from './trajectory-content.ts';

const comma = Buffer.from(',');
const groupOpen = Buffer.from('{"trajectories":[');
const groupClose = Buffer.from(']}');

/**
 * Groups made of the single trajectories in some files, each trajectory byte for byte. If a source can be read only once,
 * groups are assembled in the order of the input.
 */
export function groupedContent(sources: readonly TextSource[], grouping: Grouping): TrajectoryContent {
  const ranges = createGroupRanges();
  const lifetime = chunkLifetimeFor(sources);
  const isReordered = !sources.some(({ isSinglePass }) => isSinglePass);
  return {
    sources,
    isReordered,
    readFirst: async function* (checks) {
      const inOrder = createOrderedSelector(grouping);
      for (const [at, source] of sources.entries()) {
        yield* readCheckedChunks(
          source,
          'groups',
          checks,
          isReordered ? createIndexingSelector(ranges, at, grouping) : inOrder,
          lifetime,
        );
      }
      if (!isReordered && grouping.groupCount() > 0) yield groupClose;
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

function createOrderedSelector(grouping: Grouping): ChunkSelector {
  let current: number | undefined;
  return (event) => {
    const group = event.kind === 'trajectory' ? grouping.lastGroup() : undefined;
    if (event.kind !== 'trajectory' || group === undefined) return [];
    const before = group === current ? [comma] : current === undefined ? [groupOpen] : [groupClose, comma, groupOpen];
    current = group;
    return [...before, event.bytes];
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
