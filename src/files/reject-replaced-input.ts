import { resolve } from 'node:path';
import { usageFailure } from '../errors.ts';
import { isReplaceable } from './file-replacement.ts';
import { nameSameFile } from './is-same-file.ts';

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
