import { Buffer } from 'node:buffer';

/**
 * A writer for concurrent callers: bytes given in one turn of the event loop, or during a write, are written together. Each
 * promise settles with the write of its bytes. `write` is never called concurrently.
 */
export function coalesceWrites(write: (bytes: Buffer) => Promise<void>): (bytes: Uint8Array) => Promise<void> {
  let queued: Uint8Array[] = [];
  let next: Promise<void> | undefined;
  let running: Promise<void> = Promise.resolve();
  return (bytes) => {
    queued.push(bytes);
    next ??= Promise.all([running, new Promise((resolve) => setImmediate(resolve))]).then(() => {
      const batch = Buffer.concat(queued);
      queued = [];
      next = undefined;
      const done = write(batch);
      running = done.catch(() => {});
      return done;
    });
    return next;
  };
}
