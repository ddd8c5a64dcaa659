import { JsonError } from '../json/json-error.ts';
import { hasMark, refuseWide } from '../json/utf8.ts';
import { append, type Cursor, newCursor, placeOf } from './cursor.ts';
import { sequence, unread, wholeBody } from './grammar.ts';
import type { Form, Passing } from './passing.ts';
import type { Reading } from './tokens.ts';
import { unreadable } from './unreadable-text.ts';

/**
 * Reads a text piece by piece, in memory for one trajectory or one other member of a group or body, never for a group or
 * a file. Each step brings what has passed with one piece, to be taken before the next step: its bytes are overwritten
 * then. Whether the trajectories and the text around them are JSON is for who takes them
 * (`documentAt`, `documentOf`); throws UnreadableText where anything else is wrong.
 */
export async function* readTrajectories(
  pieces: AsyncIterable<Uint8Array>,
  form: Form,
): AsyncGenerator<Iterable<Passing>> {
  const cursor = newCursor();
  const reading = text(cursor, form);
  for await (const piece of pieces) {
    append(cursor, piece);
    yield untilMore(reading);
  }
  cursor.isEnded = true;
  yield untilMore(reading);
}

function* untilMore(reading: Reading): Generator<Passing> {
  for (;;) {
    const { value } = reading.next();
    if (value === undefined) return;
    yield value;
  }
}

function* text(cursor: Cursor, form: Form): Reading {
  while (cursor.bytes.length < 3 && !cursor.isEnded) yield undefined;
  dropMark(cursor);
  if (form === 'body') yield* wholeBody(cursor);
  else yield* form === 'groups' ? sequence(cursor) : unread(cursor);
}

function dropMark(cursor: Cursor): void {
  const { bytes } = cursor;
  try {
    refuseWide(bytes);
  } catch (error) {
    throw error instanceof JsonError ? unreadable(error, placeOf(cursor)) : error;
  }
  if (!hasMark(bytes)) return;
  // Offsets are those in the file, columns those that an editor shows.
  cursor.kept = 3;
  cursor.at = 3;
  cursor.lineStart = 3;
}
