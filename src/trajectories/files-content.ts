import { Buffer } from 'node:buffer';
import { newBatch } from './batch.ts';
import { type Content, lastingOf } from './content.ts';
import { checkedPieces, type Take, takenPieces } from './pieces.ts';
import type { TextSource } from './source.ts';

/** The groups of some files, one after the other, each byte for byte as it is written. */
export function filesContent(sources: readonly TextSource[]): Content {
  const lasting = lastingOf(sources);
  return {
    sources,
    isSorted: false,
    first: async function* (checks) {
      const take = listElements();
      for (const source of sources) yield* checkedPieces(source, 'groups', checks, take, lasting);
    },
    again: async function* () {
      const take = listElements();
      const batch = newBatch('lasting');
      for (const source of sources) yield* takenPieces(source.again(), 'elements', take, batch);
    },
  };
}

const comma = Buffer.from(',');

/** What is taken of groups for a list of them: all of each, and commas between them. */
export function listElements(): Take {
  let isFirst = true;
  return (passing) => {
    if ('bytes' in passing) return [passing.bytes];
    if (passing.kind === 'end' || isFirst) {
      isFirst &&= passing.kind === 'end';
      return [];
    }
    return [comma];
  };
}
