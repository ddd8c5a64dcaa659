import { readTrajectories, type TextForm, type TrajectoryEvent } from '../../../src/train/stream/reader.ts';
import { InvalidTextError, type TextLocation } from '../../../src/train/stream/text-position.ts';

/** The events as text: `group 1:2`, `trajectory 1:17 {...}`; texts in pieces are joined. */
export async function eventsIn(pieces: readonly Uint8Array[], form: TextForm): Promise<string[]> {
  const events: string[] = [];
  let last: TrajectoryEvent['kind'] | undefined;
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
    if (!(error instanceof InvalidTextError)) throw error;
    events.push(`wrong ${at(error.location)} ${error.message}`);
  }
  return events;
}

/** The bytes of all events: the body of a whole body, or the groups of files one after the other. */
export async function bytesIn(pieces: readonly Uint8Array[], form: TextForm): Promise<Buffer> {
  const all: Buffer[] = [];
  for await (const some of readTrajectories(inTurn(pieces), form)) {
    for (const passing of some) if ('bytes' in passing) all.push(Buffer.from(passing.bytes));
  }
  return Buffer.concat(all);
}

function worded(passing: TrajectoryEvent, bytes: string): string {
  const where = 'location' in passing ? ` ${at(passing.location)}` : '';
  const alone = passing.kind === 'trajectory' && passing.container !== 'in a group' ? ` ${passing.container}` : '';
  return `${passing.kind}${where}${alone}${bytes && ` ${bytes}`}`;
}

function at({ offset, line, column }: TextLocation): string {
  return `${line}:${column} (${offset})`;
}

async function* inTurn(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces;
}
