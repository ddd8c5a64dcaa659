import { createParser } from 'eventsource-parser';
import { UnusableBodyError } from './collect-body.ts';

// An event is held until its end.
const MAX_EVENT_CHARS = 8 * 1024 * 1024;

/**
 * The data of each event of a `text/event-stream` (comments are skipped), as it arrives. Throws what the connection
 * throws where it is cut, and UnusableBodyError for an event that is too long.
 */
export async function* readEventStream(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const ready: string[] = [];
  let isTooLong = false;
  const parser = createParser({
    onEvent: ({ data }) => ready.push(data),
    onError: ({ type }) => {
      isTooLong ||= type === 'max-buffer-size-exceeded';
    },
    maxBufferSize: MAX_EVENT_CHARS,
  });
  const decoder = new TextDecoder();
  for await (const chunk of body) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    yield* ready.splice(0);
    if (isTooLong) throw new UnusableBodyError(`an event of the stream has more than ${MAX_EVENT_CHARS} characters`);
  }
  // A last event without its blank line still counts: a server that forgets it has finished nevertheless.
  parser.feed('\n\n');
  yield* ready;
}
