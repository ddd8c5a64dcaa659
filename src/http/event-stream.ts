import { createParser } from 'eventsource-parser';
import { UnusableBodyError } from './body-chunks.ts';

// An event is held until its end.
const MAX_EVENT_CHARS = 8 * 1024 * 1024;

// The name of what is no event, but a line of JSON.
const BARE_LINE = 'line';

export interface ServerEvent {
  /** The text after `event:`; undefined without that line. */
  readonly name: string | undefined;
  readonly data: string;
  /** False for a last event without its blank line, which may be cut. */
  readonly isTerminated: boolean;
}

/** The events as they arrive. Throws what a cut connection throws, after `onCutEvent` inside an event, and UnusableBodyError for a long event. */
export async function* readEventStream(
  body: AsyncIterable<Uint8Array>,
  onCutEvent?: () => void,
): AsyncGenerator<ServerEvent> {
  const ready: ServerEvent[] = [];
  let isTerminated = true;
  let isTooLong = false;
  const parser = createParser({
    onEvent: ({ event: name, data }) => {
      // No event (WHATWG HTML, 9.2.6).
      if (data !== '') ready.push({ name, data, isTerminated });
    },
    onError: ({ type, line = '' }) => {
      isTooLong ||= type === 'max-buffer-size-exceeded';
      // Some servers write an error as a line of JSON, without `data:`.
      if (type === 'unknown-field' && line.startsWith('{')) ready.push({ name: BARE_LINE, data: line, isTerminated });
    },
    maxBufferSize: MAX_EVENT_CHARS,
  });
  const decoder = new TextDecoder();
  try {
    for await (const chunk of body) {
      parser.feed(decoder.decode(chunk, { stream: true }));
      yield* ready.splice(0);
      if (isTooLong) throw new UnusableBodyError(`an event of the stream has more than ${MAX_EVENT_CHARS} characters`);
    }
  } catch (error) {
    if (!isTooLong) parser.feed('\n\n');
    if (ready.length > 0) onCutEvent?.();
    throw error;
  }
  // A last event without its blank line still counts: a server that forgets it has finished nevertheless.
  isTerminated = false;
  parser.feed('\n\n');
  yield* ready;
}
