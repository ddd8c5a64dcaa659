import type { Form, Passing } from '../../src/trajectories/passing.ts';
import type { Place } from '../../src/trajectories/place.ts';
import { readTrajectories } from '../../src/trajectories/read.ts';
import { UnreadableText } from '../../src/trajectories/unreadable-text.ts';

/** What passed, in words: `group 1:2`, `trajectory 1:17 {...}`; texts in pieces are put together. */
export async function eventsIn(pieces: readonly Uint8Array[], form: Form): Promise<string[]> {
  const events: string[] = [];
  let last: Passing['kind'] | undefined;
  try {
    for await (const some of readTrajectories(inTurn(pieces), form)) {
      for (const passing of some) {
        const bytes = 'bytes' in passing ? passing.bytes.toString() : '';
        if (passing.kind === 'between' && last === 'between') events[events.length - 1] += bytes;
        else events.push(worded(passing, bytes));
        last = passing.kind;
      }
    }
  } catch (error) {
    if (!(error instanceof UnreadableText)) throw error;
    events.push(`wrong ${at(error.place)} ${error.message}`);
  }
  return events;
}

/** All bytes of what passed: of a whole body the body, of files the groups one after the other. */
export async function bytesIn(pieces: readonly Uint8Array[], form: Form): Promise<Buffer> {
  const all: Buffer[] = [];
  for await (const some of readTrajectories(inTurn(pieces), form)) {
    for (const passing of some) if ('bytes' in passing) all.push(Buffer.from(passing.bytes));
  }
  return Buffer.concat(all);
}

function worded(passing: Passing, bytes: string): string {
  const where = 'place' in passing ? ` ${at(passing.place)}` : '';
  const alone = passing.kind === 'trajectory' && passing.stands !== 'in a group' ? ` ${passing.stands}` : '';
  return `${passing.kind}${where}${alone}${bytes && ` ${bytes}`}`;
}

function at({ offset, line, column }: Place): string {
  return `${line}:${column} (${offset})`;
}

async function* inTurn(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces;
}
