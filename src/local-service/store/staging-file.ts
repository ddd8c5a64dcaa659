import { Buffer } from 'node:buffer';
import { readSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { openAnonymousFile } from '../../files/file-replacement.ts';
import { createChunkBatcher } from '../../train/stream/upload.ts';

/** A trajectory and its place in a job. The bytes are valid until the next one is requested. */
export interface StagedTrajectory {
  readonly group: number;
  readonly index: number;
  readonly bytes: Uint8Array;
}

/** Trajectories of a job that may still be rejected, in an unnamed file, which disappears however the process ends. */
export interface StagingFile {
  readonly add: (row: StagedTrajectory) => void;
  /** Writes the added rows to disk and frees their memory. */
  readonly flush: () => Promise<void>;
  /** All that was added and written, in order. They are read at once, because a transaction cannot wait. */
  readonly trajectories: () => Generator<StagedTrajectory>;
  readonly close: () => Promise<void>;
}

// Before each trajectory: its group, its place in it, and how many bytes it has.
const HEADER_BYTES = 12;

/** Opens a staging file in a directory. Throws system errors. */
export async function openStagingFile(directory: string): Promise<StagingFile> {
  const handle = await openAnonymousFile(directory);
  const batch = createChunkBatcher();
  let pending: Uint8Array[] = [];
  let writtenBytes = 0;
  return {
    add: ({ group, index, bytes }) => {
      const head = Buffer.allocUnsafe(HEADER_BYTES);
      head.writeUInt32LE(group, 0);
      head.writeUInt32LE(index, 4);
      head.writeUInt32LE(bytes.length, 8);
      pending.push(head, bytes);
    },
    flush: async () => {
      const chunks = pending;
      pending = [];
      for (const chunk of batch(chunks)) {
        await handle.appendFile(chunk);
        writtenBytes += chunk.length;
      }
    },
    trajectories: () => readTrajectoriesFrom(handle, writtenBytes),
    close: () => handle.close(),
  };
}

function* readTrajectoriesFrom({ fd }: FileHandle, size: number): Generator<StagedTrajectory> {
  let buffer = Buffer.alloc(0);
  let position = 0;
  const readBytes = (length: number): Buffer => {
    if (length > buffer.length) buffer = Buffer.allocUnsafeSlow(length);
    const bytes = buffer.subarray(0, length);
    for (let read = 0; read < length; ) {
      const count = readSync(fd, bytes, read, length - read, position + read);
      if (count === 0) throw new Error('the staging file was truncated');
      read += count;
    }
    position += length;
    return bytes;
  };
  while (position < size) {
    const head = readBytes(HEADER_BYTES);
    const [group, index, length] = [head.readUInt32LE(0), head.readUInt32LE(4), head.readUInt32LE(8)];
    yield { group, index, bytes: readBytes(length) };
  }
}
