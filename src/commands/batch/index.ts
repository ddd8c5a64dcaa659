import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { writeIndex } from '../../batch/read/input-index.ts';
import type { Invocation } from '../../command.ts';
import type { Context } from '../../context.ts';
import { Failure } from '../../errors.ts';
import { withFileFailure } from '../../files/file-errors.ts';
import type { ResultOptions } from '../../output/output-format.ts';
import { formatPercent } from '../../output/transfer-text.ts';
import { openResultOutput, printResult, resultOf } from '../../results/print-result.ts';

/** Writes the index of an input beside it. Throws Failure `local_file` for anything but a regular file. */
export async function runBatchIndex({ args, options }: Invocation<ResultOptions>, context: Context): Promise<void> {
  const output = await openResultOutput('record', options, context);
  const [label = ''] = args;
  const path = resolve(context.runtime.cwd, label);
  const isRegular = label !== '-' && (await withFileFailure('read', label, () => stat(path))).isFile();
  if (!isRegular)
    throw new Failure('local_file', `cannot index ${label}: it is not a regular file`, {
      hint: 'save the input to a file first; shards of a pipe take every n-th line',
    });
  let progress = `indexing ${label}`;
  const endSpinner = context.startSpinner(() => progress);
  try {
    const written = await writeIndex(path, label, (bytes, size) => {
      progress = `indexing ${label}: ${formatPercent(bytes, size)}`;
      context.signal.throwIfAborted();
    });
    endSpinner();
    await printResult(resultOf(written), output);
  } finally {
    endSpinner();
  }
}
