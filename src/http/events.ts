import { TextDecoder } from 'node:util';
import { createParser } from 'eventsource-parser';

/**
 * The data of each event of a `text/event-stream` (comments are skipped), as it arrives. Throws what the connection
 * throws where it is cut.
 */
export async function* eventsOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const ready: string[] = [];
  const parser = createParser({ onEvent: ({ data }) => ready.push(data) });
  const decoder = new TextDecoder();
  for await (const piece of body) {
    parser.feed(decoder.decode(piece, { stream: true }));
    yield* ready.splice(0);
  }
  // A last event without its blank line still counts: a server that forgets it has finished nevertheless.
  parser.feed('\n\n');
  yield* ready;
}
