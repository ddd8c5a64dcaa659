import { Buffer } from 'node:buffer';
import { newBatch } from './batch.ts';
import { type Content, lastingOf } from './content.ts';
import { listElements } from './files-content.ts';
import type { Grouping } from './grouping.ts';
import { checkedPieces, type Take, takenPieces } from './pieces.ts';
import { newRuns, type Runs } from './runs.ts';
import type { TextSource } from './source.ts';

const comma = Buffer.from(',');
const open = Buffer.from('{"trajectories":[');
const close = Buffer.from(']}');

/**
 * Groups made of trajectories that stand alone in some files, each trajectory byte for byte as it is written. Where a
 * source can be read once only they are put together as they come.
 */
export function groupedContent(sources: readonly TextSource[], grouping: Grouping): Content {
  const runs = newRuns();
  const lasting = lastingOf(sources);
  const isSorted = !sources.some(({ isOnce }) => isOnce);
  return {
    sources,
    isSorted,
    first: async function* (checks) {
      const joined = inTheirOrder(grouping);
      for (const [at, source] of sources.entries()) {
        yield* checkedPieces(source, 'groups', checks, isSorted ? indexed(runs, at, grouping) : joined, lasting);
      }
      if (!isSorted && grouping.groups() > 0) yield close;
    },
    again: async function* () {
      const batch = newBatch('lasting');
      for (let group = 0; group < grouping.groups(); group += 1) {
        yield group === 0 ? open : Buffer.concat([comma, open]);
        const take = listElements();
        for (const { source, start, end } of runs.of(group)) {
          const text = sources[source]?.again(start, end);
          if (text) yield* takenPieces(text, 'elements', take, batch);
        }
        yield close;
      }
    },
  };
}

function inTheirOrder(grouping: Grouping): Take {
  let current: number | undefined;
  return (passing) => {
    const group = passing.kind === 'trajectory' ? grouping.last() : undefined;
    if (passing.kind !== 'trajectory' || group === undefined) return [];
    const before = group === current ? [comma] : current === undefined ? [open] : [close, comma, open];
    current = group;
    return [...before, passing.bytes];
  };
}

// Neighbours in a list have a comma between them, so each of them is a run of its own.
function indexed(runs: Runs, source: number, grouping: Grouping): Take {
  let isNext = false;
  return (passing) => {
    if (passing.kind !== 'trajectory') return [];
    const group = grouping.last();
    const { offset: start } = passing.place;
    if (group !== undefined) runs.add(group, { source, start, end: start + passing.bytes.length }, isNext);
    isNext = group !== undefined && passing.stands === 'alone';
    return [];
  };
}
