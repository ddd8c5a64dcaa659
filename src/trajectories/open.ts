import { Buffer } from 'node:buffer';
import { type FileHandle, open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Failure } from '../errors.ts';
import { lasting } from './batch.ts';
import { inflated, packingOf } from './inflate.ts';
import { fileSource, type TextSource, unread } from './source.ts';
import type { Spool } from './spool.ts';

/** What opening sources needs from the world. */
export interface Surroundings {
  readonly cwd: string;
  /** All of stdin, once. */
  readonly stdin: () => AsyncIterable<Uint8Array>;
  /** For what can be read once only; undefined where it shall be read once only. */
  readonly spool: Spool | undefined;
}

/**
 * Finds out what a path is, `-` being stdin. What is no regular file, and what is compressed, is copied as it is read for
 * the first time. Throws Failure `local` where it cannot be read.
 */
export async function openSource(path: string, { cwd, stdin, spool }: Surroundings): Promise<TextSource> {
  if (path === '-') return passing(() => unpacked(stdin(), 'stdin'), 'stdin', spool);
  const full = resolve(cwd, path);
  const handle = await open(full).catch((error: unknown) => {
    throw unread(path, error);
  });
  let isLent = false;
  try {
    const stat = await handle.stat();
    if (stat.isDirectory()) throw new Failure('local', `cannot read ${path}: it is a folder`);
    if (!stat.isFile()) {
      isLent = true;
      return passing(() => unpacked(lent(handle), path), path, spool);
    }
    const start = Buffer.alloc(4);
    await handle.read(start, 0, start.length, 0).catch((error: unknown) => {
      throw unread(path, error);
    });
    const source = await fileSource(full, path, handle);
    const packing = packingOf(start);
    return packing ? passing(() => inflated(lasting(source.first()), packing, path), path, spool) : source;
  } finally {
    if (!isLent) await handle.close();
  }
}

function passing(pieces: () => AsyncIterable<Uint8Array>, label: string, spool: Spool | undefined): TextSource {
  if (spool) return spool.source(pieces, label);
  const again = (): never => {
    throw new Failure('local', `${label} can be read once only`, { applied: 'no' });
  };
  const nothing = async (): Promise<void> => {};
  return { label, size: undefined, isOnce: true, first: pieces, again, refuseChanged: nothing, close: nothing };
}

// A pipe or a device is not opened twice: its writer would see the end of it.
async function* lent(handle: FileHandle): AsyncGenerator<Uint8Array> {
  yield* handle.createReadStream();
}

// The first bytes decide, wherever the text comes from.
async function* unpacked(pieces: AsyncIterable<Uint8Array>, label: string): AsyncGenerator<Uint8Array> {
  const rest = pieces[Symbol.asyncIterator]();
  let start = Buffer.alloc(0);
  while (start.length < 4) {
    const { value, done } = await rest.next();
    if (done) break;
    start = Buffer.concat([start, value]);
  }
  const packing = packingOf(start);
  const all = joined(start, rest);
  yield* packing ? inflated(all, packing, label) : all;
}

async function* joined(start: Buffer, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    if (start.length > 0) yield start;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}
