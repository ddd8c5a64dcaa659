import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';

/** True when two paths name one file, also through links; files that do not exist are compared by path. */
export async function isSameFile(left: string, right: string): Promise<boolean> {
  if (resolve(left) === resolve(right)) return true;
  const [one, other] = await Promise.all([left, right].map((path) => stat(path).catch(() => undefined)));
  return one !== undefined && other !== undefined && one.dev === other.dev && one.ino === other.ino;
}
