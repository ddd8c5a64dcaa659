import { chmod, lstat, realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { safetyFailure } from '../errors.ts';
import { undefinedIfNotFound } from './file-errors.ts';

const OTHERS_MAY_WRITE = 0o022;
const OTHERS_MAY_USE = 0o077;
const ROOT_USER_ID = 0;

/** Who runs svc, and where a narrowed mode is reported. Without a user id, as on Windows, nothing is checked. */
export interface TrustOptions {
  readonly userId: number | undefined;
  readonly warn: (message: string) => Promise<void>;
}

/** Makes sure that a file with secrets can be trusted before it is opened (docs/internals/contract.md, credentials): requireOwnFile, then narrowMode. */
export async function requireTrustedFile(path: string, trust: TrustOptions): Promise<void> {
  await requireOwnFile(path, trust);
  await narrowMode(path, trust);
}

/** Throws Failure `safety_check` for a file of another user, and for a symlink into a directory others can write; a missing file passes. */
export async function requireOwnFile(path: string, { userId }: TrustOptions): Promise<void> {
  if (userId === undefined) return;
  await requireSafeLink(path).catch(undefinedIfNotFound);
  const { uid = userId } = (await stat(path).catch(undefinedIfNotFound)) ?? {};
  if (uid !== userId && uid !== ROOT_USER_ID)
    throw safetyFailure('unsafe_file', `${path} belongs to another user (id ${uid}), so svc does not use it`, {
      hint: `if you trust its content, take it over: sudo chown ${userId} ${path}`,
    });
}

/** Throws Error for a FIFO or a device, which could be read without end. A file that does not exist passes. */
export async function requireRegularFile(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found && !found.isFile() && !found.isDirectory()) throw new Error('it is not a regular file');
}

export async function narrowMode(path: string, { userId, warn }: TrustOptions): Promise<void> {
  const found = await stat(path).catch(undefinedIfNotFound);
  if (userId === undefined || found?.uid !== userId || !found.isFile() || (found.mode & OTHERS_MAY_USE) === 0) return;
  await chmod(path, 0o600);
  await warn(`${path} was open to other users (${formatMode(found.mode)}); its mode is now 0600`);
}

async function requireSafeLink(path: string): Promise<void> {
  if (!(await lstat(path)).isSymbolicLink()) return;
  const target = await realpath(path);
  const { mode } = await stat(dirname(target));
  if ((mode & OTHERS_MAY_WRITE) === 0) return;
  throw safetyFailure(
    'unsafe_file',
    `${path} is a symlink into ${dirname(target)}, which other users can write (${formatMode(mode)})`,
    { hint: `move the file to a directory of yours, or run: chmod go-w ${dirname(target)}` },
  );
}

export function formatMode(mode: number): string {
  return (mode & 0o777).toString(8).padStart(4, '0');
}
