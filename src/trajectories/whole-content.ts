import { lasting } from './batch.ts';
import { type Content, lastingOf } from './content.ts';
import { checkedPieces } from './pieces.ts';
import { type Part, partOf, type Shell, shellOf } from './shell.ts';
import type { TextSource } from './source.ts';

/** A whole body, and what of it is no trajectory. */
export interface WholeContent extends Content {
  /** Known once everything was read; without any text in the source it is empty. */
  readonly shell: () => Shell;
}

/** The groups of a whole body as they stand in it, with everything between them. `first` yields all of the body. */
export function wholeContent(source: TextSource): WholeContent {
  const parts: Part[] = [];
  return {
    sources: [source],
    isSorted: false,
    first: async function* (checks) {
      let isInGroup = false;
      yield* checkedPieces(
        source,
        'body',
        checks,
        (passing) => {
          if (passing.kind === 'group') isInGroup = true;
          if (passing.kind === 'end') isInGroup = false;
          if (passing.kind === 'text' && !isInGroup) parts.push(partOf(passing));
          return 'bytes' in passing ? [passing.bytes] : [];
        },
        lastingOf([source]),
      );
    },
    again: async function* (list) {
      const before = parts[list];
      const after = parts[list + 1];
      if (!before || !after) return;
      yield* lasting(source.again(before.place.offset + before.bytes.length, after.place.offset));
    },
    shell: () => shellOf(parts),
  };
}
