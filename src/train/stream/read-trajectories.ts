import { JsonError } from '../../json/json-error.ts';
import { hasByteOrderMark, rejectUtf16 } from '../../json/utf8.ts';
import { appendChunk, type Cursor, createCursor, cursorLocation } from './cursor.ts';
import { readBodyEvents, readElementEvents, readGroupEvents } from './grammar.ts';
import { invalidJsonError } from './invalid-text-error.ts';
import type { EventGenerator } from './tokens.ts';
import type { TextForm, TrajectoryEvent } from './trajectory-event.ts';

/**
 * Reads a text chunk by chunk; memory is bounded by one trajectory, or one other field of a group or body. Each step yields
 * the events of one chunk; their bytes are valid until the next step. The consumer parses trajectories and texts
 * (`parseTextAt`, `parseEnvelope`); other errors throw InvalidTextError.
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
