import { InterruptedError } from '../errors.ts';
import type { InputStream } from '../runtime.ts';

/** Rejects with SIGHUP when the terminal on stdin is closed, even without the signal; in raw mode nothing else ends it. */
export function awaitClosedTerminal(stdin: InputStream): Promise<never> {
  const closed = new Promise<never>((_, reject) => {
    const onClosed = (): void => {
      // Readline sets the modes of a terminal whenever it closes its input, and does so again after each error of that.
      Object.assign(stdin, { setRawMode: () => stdin });
      reject(new InterruptedError('SIGHUP'));
    };
    stdin.prependListener('end', onClosed).prependListener('error', onClosed);
  });
  closed.catch(() => {});
  return closed;
}
