import type { Buffer } from 'node:buffer';
import { open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../errors.ts';
import { describeFileError, isNotFoundError } from '../files/file-errors.ts';
import { makeDirectory } from '../files/make-directory.ts';
import { syncDirectory } from '../files/rename-durably.ts';

/** A call on disk that is still to be sent. */
export interface SpooledCall {
  readonly file: string;
  /** Origin and path of the trace base URL that it was recorded for, or `local`. */
  readonly target: string;
  /** The body of the `call start` request. */
  readonly body: string;
}

const MAX_SPOOLED_CALLS = 10_000;
const MAX_SPOOL_BYTES = 100 * 1024 * 1024;

/** The directory of the spool below the data directory. */
export function spoolDirectory(dataDirectory: string): string {
  return join(dataDirectory, 'spool');
}

/**
 * Writes a call to the spool so that it survives a crash, and returns its file. The file has mode 0600 and holds no
 * credential. Throws Failure `local` if it cannot be written or the spool is full.
 */
export async function spoolCall(directory: string, id: string, target: string, body: Buffer): Promise<string> {
  const file = join(directory, `${id}.json`);
  try {
    await makeDirectory(directory, 0o700);
    await requireRoom(directory, body.length);
    const temporary = `${file}.tmp`;
    const handle = await open(temporary, 'wx', 0o600);
    try {
      await handle.writeFile(`${JSON.stringify({ target })}\n${body.toString()}`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
    await syncDirectory(directory);
    return file;
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure('local', `could not spool the call in ${directory}: ${describeFileError(error)}`, {
      hint: 'set SVC_DATA_DIR to a directory you can write to',
      applied: 'no',
    });
  }
}

/** The spooled calls, oldest name first; a file that is not one is skipped. */
export async function readSpool(directory: string): Promise<SpooledCall[]> {
  const names = await readdir(directory).catch((error: unknown) => {
    if (isNotFoundError(error)) return [];
    throw new Failure('local', `could not read ${directory}: ${describeFileError(error)}`);
  });
  const calls: SpooledCall[] = [];
  for (const name of names.filter((one) => one.endsWith('.json')).sort()) {
    const file = join(directory, name);
    const text = await readFile(file, 'utf8').catch(() => '');
    const [head = '', body = ''] = text.split('\n', 2);
    const target = targetOf(head);
    if (body !== '' && target !== undefined) calls.push({ file, target, body });
  }
  return calls;
}

/** Deletes the file of a call that was sent. */
export async function removeSpooledCall(file: string): Promise<void> {
  await rm(file, { force: true });
}

async function requireRoom(directory: string, bytes: number): Promise<void> {
  const names = (await readdir(directory)).filter((name) => name.endsWith('.json'));
  const sizes = await Promise.all(
    names.map((name) =>
      stat(join(directory, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  const total = sizes.reduce((sum, size) => sum + size, bytes);
  if (names.length < MAX_SPOOLED_CALLS && total <= MAX_SPOOL_BYTES) return;
  throw new Failure(
    'local',
    `the spool in ${directory} is full: ${names.length} calls, ${Math.round(total / 1e6)} MB`,
    {
      hint: 'send them with: svc call flush',
      applied: 'no',
    },
  );
}

function targetOf(line: string): string | undefined {
  try {
    const { target }: { target?: unknown } = JSON.parse(line);
    return typeof target === 'string' ? target : undefined;
  } catch {
    return undefined;
  }
}
