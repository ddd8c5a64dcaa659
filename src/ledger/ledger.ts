import { Buffer } from 'node:buffer';
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Failure } from '../errors.ts';
import { syncFolder } from '../files/durable.ts';
import { makeFolder } from '../files/folder.ts';
import { type LockWorld, lock } from '../files/lock.ts';
import { fileReason, isMissing } from '../files/reason.ts';
import { type Entry, entriesIn, wholeLength } from './entries.ts';

/** A ledger while nobody else can write to it. */
export interface OpenLedger {
  readonly entries: readonly Entry[];
  /** Adds a line, once; it lasts when this returns, even if the power fails. Where that fails the ledger is as it was. */
  readonly add: (line: string) => Promise<void>;
}

// Who holds the lock writes one line; a disk may be slow, and many processes may wait.
const PATIENCE = 30_000;

/** The ledger of training jobs in a data folder. */
export function ledgerFile(folder: string): string {
  return join(folder, 'training-jobs.jsonl');
}

/** The jobs in a ledger, the oldest first; none where there is no ledger yet. Throws Failure `local` where it cannot be read. */
export async function readLedger(path: string): Promise<Entry[]> {
  const bytes = await readFile(path).catch((error: unknown) => {
    if (isMissing(error)) return Buffer.alloc(0);
    throw unusable('read', path, error);
  });
  return entriesIn(bytes, path);
}

/**
 * Opens a ledger while no other process can, making it (0600, in a 0700 folder) where it is not there and mending a last
 * line that was torn. Throws Failure `local` where that is not possible.
 */
export async function inLedger<T>(
  path: string,
  world: LockWorld,
  action: (ledger: OpenLedger) => Promise<T>,
): Promise<T> {
  await written(path, () => makeFolder(dirname(path), 0o700));
  const unlock = await lock(path, path, world, PATIENCE);
  try {
    const file = await written(path, () => open(path, 'a+', 0o600));
    try {
      const bytes = await written(path, () => file.readFile());
      const entries = entriesIn(bytes, path);
      return await action({ entries, add: (line) => written(path, () => append(file, path, bytes, line)) });
    } finally {
      await file.close();
    }
  } finally {
    await unlock();
  }
}

async function append(file: FileHandle, path: string, before: Buffer, line: string): Promise<void> {
  const whole = wholeLength(before);
  await file.truncate(whole);
  const isOpen = whole > 0 && before[whole - 1] !== 0x0a;
  try {
    await file.appendFile(isOpen ? `\n${line}` : line);
    await file.sync();
    if (before.length === 0) await syncFolder(dirname(path));
  } catch (error) {
    await file.truncate(whole).catch(() => {});
    throw error;
  }
}

async function written<T>(path: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw unusable('write', path, error);
  }
}

function unusable(how: string, path: string, error: unknown): Failure {
  return new Failure('local', `cannot ${how} the ledger of training jobs, ${path}: ${fileReason(error)}`, {
    hint: 'SVC_DATA_DIR names another folder for it',
    applied: 'no',
  });
}
