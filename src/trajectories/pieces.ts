import { type Batch, type Lasting, newBatch } from './batch.ts';
import type { Checks } from './checks.ts';
import type { Form, Passing } from './passing.ts';
import { readTrajectories } from './read.ts';
import type { TextSource } from './source.ts';
import { UnreadableText } from './unreadable-text.ts';

/** What becomes of something that passes: the bytes of it that are sent. */
export type Take = (passing: Passing) => readonly Uint8Array[];

/**
 * Reads a source for the first time, has the checks see all that passes, and yields what is taken of it. Where it cannot
 * be read to its end the checks are told.
 */
export async function* checkedPieces(
  source: TextSource,
  form: Form,
  checks: Checks,
  take: Take,
  lasting: Lasting,
): AsyncGenerator<Uint8Array> {
  const { label } = source;
  const seen: Take = (passing) => {
    checks.see(passing, label);
    return take(passing);
  };
  try {
    yield* takenPieces(source.first(), form, seen, newBatch(lasting));
  } catch (error) {
    if (!(error instanceof UnreadableText)) throw error;
    checks.refuse(error, label, form === 'body' ? '' : 'trajectory_groups');
  }
}

/** Reads a text and yields what is taken of it, in pieces of a good size. Throws as readTrajectories does. */
export async function* takenPieces(
  text: AsyncIterable<Uint8Array>,
  form: Form,
  take: Take,
  batch: Batch,
): AsyncGenerator<Uint8Array> {
  for await (const some of readTrajectories(text, form)) yield* batch(takenOf(some, take));
}

function* takenOf(some: Iterable<Passing>, take: Take): Generator<Uint8Array> {
  for (const passing of some) yield* take(passing);
}
