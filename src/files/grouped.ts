import { Buffer } from 'node:buffer';

/**
 * A writer that many may use at once: what is given in one turn of the event loop, or while a write is under way, goes
 * together. Each promise is settled as the write is that took its bytes. `write` is never called twice at the same time.
 */
export function grouped(write: (bytes: Buffer) => Promise<void>): (bytes: Uint8Array) => Promise<void> {
  let waiting: Uint8Array[] = [];
  let next: Promise<void> | undefined;
  let running: Promise<void> = Promise.resolve();
  return (bytes) => {
    waiting.push(bytes);
    next ??= Promise.all([running, turn()]).then(() => {
      const together = Buffer.concat(waiting);
      waiting = [];
      next = undefined;
      const done = write(together);
      running = done.catch(() => {});
      return done;
    });
    return next;
  };
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
