import { constants, fstat, open, readFile, stat } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';

/** True for a pipe with data, or a file (of Linux) of which nothing was read: one past its start is the input of a loop, which keeps it. */
export async function hasUnreadData(fd: number): Promise<boolean> {
  try {
    const stats = await promisify(fstat)(fd);
    // After fstat has seen a pipe, Node 20 loads packages behind symbolic links by the wrong path.
    await promisify(stat)('/');
    if (stats.isFile()) return stats.size > 0 && (await readOffset(fd)) === 0;
    return stats.isFIFO() && (await isReadable(fd));
  } catch {
    return false;
  }
}

async function readOffset(fd: number): Promise<number> {
  const info = await promisify(readFile)(`/proc/self/fdinfo/${fd}`, 'utf8');
  return Number(/^pos:\s*(\d+)/m.exec(info)?.[1]);
}

// A read into an empty buffer fails with ENOBUFS as soon as there is something to read, and takes nothing. The pipe is
// opened once more, because making the descriptor itself non-blocking would change it for all who share it; and for writing
// too, because the end of a pipe without a writer is as readable as data.
async function isReadable(fd: number): Promise<boolean> {
  const { Socket } = await import('node:net');
  const copy = await promisify(open)(`/proc/self/fd/${fd}`, constants.O_RDWR | constants.O_NONBLOCK);
  let isReady = false;
  const onread = { buffer: Buffer.alloc(0), callback: () => true };
  const options = { fd: copy, readable: true, writable: false, onread };
  const socket = new Socket(options);
  socket.on('error', () => {
    isReady = true;
  });
  socket.resume();
  // The first turn may begin after the poll of this one.
  for (let turn = 0; turn < 3 && !isReady; turn++) await setImmediate();
  socket.destroy();
  return isReady;
}
