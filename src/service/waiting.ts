import { Buffer } from 'node:buffer';
import { readSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { openNameless } from '../files/nameless.ts';
import { newBatch } from '../trajectories/batch.ts';

/** A trajectory and its place in a job. The bytes are its own only until the next one is asked for. */
export interface Row {
  readonly group: number;
  readonly at: number;
  readonly bytes: Uint8Array;
}

/**
 * Trajectories of a job that may still be refused. They wait in a file without a name beside the database, and nothing
 * of it stays, whatever ends the process.
 */
export interface Waiting {
  readonly add: (row: Row) => void;
  /** Writes what was added to the disk, so that it takes no memory. */
  readonly flush: () => Promise<void>;
  /** All that was added and written, in order. They are read at once, because a transaction cannot wait. */
  readonly rows: () => Generator<Row>;
  readonly close: () => Promise<void>;
}

// Before each trajectory: its group, its place in it, and how many bytes it has.
const HEAD = 12;

/** Opens a place to wait in, in a folder. Throws what the system throws. */
export async function openWaiting(folder: string): Promise<Waiting> {
  const handle = await openNameless(folder);
  const batch = newBatch('passing');
  let added: Uint8Array[] = [];
  let used = 0;
  return {
    add: ({ group, at, bytes }) => {
      const head = Buffer.allocUnsafe(HEAD);
      head.writeUInt32LE(group, 0);
      head.writeUInt32LE(at, 4);
      head.writeUInt32LE(bytes.length, 8);
      added.push(head, bytes);
    },
    flush: async () => {
      const all = added;
      added = [];
      for (const piece of batch(all)) {
        await handle.appendFile(piece);
        used += piece.length;
      }
    },
    rows: () => rowsIn(handle, used),
    close: () => handle.close(),
  };
}

function* rowsIn({ fd }: FileHandle, size: number): Generator<Row> {
  const next = reader(fd);
  for (let left = size; left > 0; ) {
    const head = next(HEAD);
    const [group, at, length] = [head.readUInt32LE(0), head.readUInt32LE(4), head.readUInt32LE(8)];
    yield { group, at, bytes: next(length) };
    left -= HEAD + length;
  }
}

const PIECE = 1024 * 1024;

// Gives the next bytes of a file each time; they are overwritten at the next time.
function reader(fd: number): (length: number) => Buffer {
  let room = Buffer.allocUnsafeSlow(PIECE);
  let held = room.subarray(0, 0);
  let position = 0;
  return (length) => {
    if (length > room.length) {
      room = Buffer.allocUnsafeSlow(length);
      room.set(held);
    } else if (held.length < length) room.set(held);
    while (held.length < length) {
      const read = readSync(fd, room, held.length, room.length - held.length, position);
      if (read === 0) throw new Error('what waited on the disk has become shorter');
      position += read;
      held = room.subarray(0, held.length + read);
    }
    const taken = held.subarray(0, length);
    held = held.subarray(length);
    return taken;
  };
}
