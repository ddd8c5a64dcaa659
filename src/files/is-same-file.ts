import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';

/** True when two paths name one file, also through links; files that do not exist are compared by path. */
export async function isSameFile(left: string, right: string): Promise<boolean> {
  if (resolve(left) === resolve(right)) return true;
  const [one, other] = await Promise.all([left, right].map((path) => stat(path).catch(() => undefined)));
  return one !== undefined && other !== undefined && one.dev === other.dev && one.ino === other.ino;
}

/** As isSameFile, for the values of two flags: a flag that is absent, or `-` for stdin or stdout, names no file. */
export async function nameSameFile(left: string | undefined, right: string | undefined, cwd: string): Promise<boolean> {
  const [one, other] = [left, right].map((name) =>
    name === undefined || name === '-' ? undefined : resolve(cwd, name),
  );
  return one !== undefined && other !== undefined && isSameFile(one, other);
}
