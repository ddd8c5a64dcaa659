import { JsonError } from '../../json/json-error.ts';
import { hasByteOrderMark, rejectUtf16 } from '../../json/utf8.ts';
import { appendChunk, type Cursor, createCursor, cursorLocation } from './cursor.ts';
import { readBodyEvents, readElementEvents, readGroupEvents } from './grammar.ts';
import { invalidJsonError } from './invalid-text-error.ts';
import type { EventGenerator } from './tokens.ts';
import type { TextForm, TrajectoryEvent } from './trajectory-event.ts';

/**
 * Reads a text piece by piece, in memory for one trajectory or one other member of a group or body, never for a group or
 * a file. Each step brings what has passed with one piece, to be taken before the next step: its bytes are overwritten
 * then. Whether the trajectories and the text around them are JSON is for who takes them
 * (`documentAt`, `documentOf`); throws UnreadableText where anything else is wrong.
 */
export async function* readTrajectories(
  chunks: AsyncIterable<Uint8Array>,
  form: TextForm,
): AsyncGenerator<Iterable<TrajectoryEvent>> {
  const cursor = createCursor();
  const events = readText(cursor, form);
  for await (const chunk of chunks) {
    appendChunk(cursor, chunk);
    yield availableEvents(events);
  }
  cursor.isEnded = true;
  yield availableEvents(events);
}

function* availableEvents(events: EventGenerator): Generator<TrajectoryEvent> {
  for (;;) {
    const { value } = events.next();
    if (value === undefined) return;
    yield value;
  }
}

function* readText(cursor: Cursor, form: TextForm): EventGenerator {
  while (cursor.bytes.length < 3 && !cursor.isEnded) yield undefined;
  skipByteOrderMark(cursor);
  if (form === 'body') yield* readBodyEvents(cursor);
  else yield* form === 'groups' ? readGroupEvents(cursor) : readElementEvents(cursor);
}

function skipByteOrderMark(cursor: Cursor): void {
  const { bytes } = cursor;
  try {
    rejectUtf16(bytes);
  } catch (error) {
    throw error instanceof JsonError ? invalidJsonError(error, cursorLocation(cursor)) : error;
  }
  if (!hasByteOrderMark(bytes)) return;
  // Offsets are those in the file, columns those that an editor shows.
  cursor.keepFrom = 3;
  cursor.at = 3;
  cursor.lineStart = 3;
}
