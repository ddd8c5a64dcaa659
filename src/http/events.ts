import { createParser } from 'eventsource-parser';
import { Unusable } from './collect.ts';

// The most characters of one event, which is held until its end.
const MOST = 8 * 1024 * 1024;

/**
 * The data of each event of a `text/event-stream` (comments are skipped), as it arrives. Throws what the connection
 * throws where it is cut, and Unusable for an event that does not end.
 */
export async function* eventsOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const ready: string[] = [];
  let isUnusable = false;
  const parser = createParser({
    onEvent: ({ data }) => ready.push(data),
    onError: ({ type }) => {
      isUnusable ||= type === 'max-buffer-size-exceeded';
    },
    maxBufferSize: MOST,
  });
  const decoder = new TextDecoder();
  for await (const piece of body) {
    parser.feed(decoder.decode(piece, { stream: true }));
    yield* ready.splice(0);
    if (isUnusable) throw new Unusable(`an event of the stream has more than ${MOST} characters`);
  }
  // A last event without its blank line still counts: a server that forgets it has finished nevertheless.
  parser.feed('\n\n');
  yield* ready;
}
