import { batchFlags } from '../../batch/batch-flags.ts';
import { usageFailure } from '../../errors.ts';
import type { FlagValues } from '../../flag.ts';

/** Throws usage for flags that are for many bodies where there is one: without --batch they would be given in vain. */
export function rejectBatchFlags(flags: FlagValues): void {
  for (const { name } of batchFlags)
    if (flags.has(name))
      throw usageFailure(`--${name} works only with --batch`, 'name the file of lines: --batch <file>');
}
