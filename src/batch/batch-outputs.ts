import { resolve } from 'node:path';
import { usageFailure } from '../errors.ts';
import { isSameFile } from '../files/is-same-file.ts';

/** Throws usage where the file that `flag` names is one of the inputs of the command, which it would replace. */
export async function rejectReplacedInput(
  flag: string,
  output: string | undefined,
  inputs: readonly string[],
  cwd: string,
): Promise<void> {
  if (output === undefined || output === '-') return;
  for (const input of inputs)
    if (input !== '-' && (await isSameFile(resolve(cwd, input), resolve(cwd, output))))
      throw usageFailure(`${output} is an input, and ${flag} would replace it`, `choose another file with ${flag}`);
}
