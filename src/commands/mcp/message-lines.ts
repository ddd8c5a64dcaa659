import { Buffer } from 'node:buffer';
import { Failure } from '../../errors.ts';
import type { InputStream } from '../../runtime.ts';

// A tool call carries a request body, of which servers take at most 32 MiB.
const MAX_MESSAGE_BYTES = 33 * 1024 * 1024;

const LINE_FEED = 0x0a;

/** The messages on a stream, one per line, until it ends or the signal aborts. Throws Failure `local` for one that is too long. */
export async function* splitMessages(stdin: InputStream, signal: AbortSignal): AsyncGenerator<Buffer> {
  const stop = (): void => void stdin.destroy();
  signal.addEventListener('abort', stop, { once: true });
  let chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of stdin) {
      let rest = Buffer.from(chunk);
      for (let end = rest.indexOf(LINE_FEED); end !== -1; end = rest.indexOf(LINE_FEED)) {
        yield Buffer.concat([...chunks, rest.subarray(0, end)]);
        [chunks, length] = [[], 0];
        rest = rest.subarray(end + 1);
      }
      if (rest.length === 0) continue;
      chunks.push(rest);
      length += rest.length;
      if (length > MAX_MESSAGE_BYTES)
        throw new Failure('local', `a message on stdin is longer than ${MAX_MESSAGE_BYTES / 1024 / 1024} MiB`);
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', stop);
  }
  signal.throwIfAborted();
}
