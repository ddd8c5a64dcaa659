import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { usageFailure } from '../errors.ts';
import { isReplaceable } from './file-replacement.ts';

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

/**
 * Throws usage if the file that `flag` names is one of the inputs of the command, which it would replace. Devices and
 * pipes are not replaced.
 */
export async function rejectReplacedInput(
  flag: string,
  output: string | undefined,
  inputs: readonly string[],
  cwd: string,
): Promise<void> {
  for (const input of inputs)
    if (output !== undefined && (await nameSameFile(input, output, cwd)) && (await isReplaceable(resolve(cwd, output))))
      throw usageFailure(`${output} is an input, and ${flag} would replace it`, `choose another file with ${flag}`);
}
