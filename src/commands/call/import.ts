import type { BatchFlagOptions } from '../../batch/batch-flags.ts';
import { spanSplitter } from '../../batch/read/span-input.ts';
import { runBatch } from '../../batch/run-batch.ts';
import type { SettingOptions } from '../../client/request-flags.ts';
import type { RunCommand } from '../../command.ts';
import type { ServiceOptions } from '../../config/settings.ts';
import type { OptionsOfList } from '../../flag.ts';
import { callStartOperation } from '../../operations/call-start.ts';
import type { callProjectFlag } from '../definitions/command-flags.ts';

type ImportOptions = ServiceOptions &
  Pick<SettingOptions, 'output' | 'dryRun' | 'curl' | 'strict' | 'noCheck'> &
  OptionsOfList<typeof callProjectFlag> &
  Omit<BatchFlagOptions, 'batch' | 'rows' | 'delimiter' | 'idColumn' | 'prompt'>;

/** Records the spans of a file of OTLP/JSON as calls: a batch whose lines are the spans. Throws what runBatch throws. */
export const runCallImport: RunCommand<ImportOptions> = async ({ args: [path = '-'], options }, context) => {
  const invocation = { args: [], options: { ...options, batch: path } };
  // A batch that is resumed reads its input twice.
  let isReported = false;
  const split = spanSplitter(path === '-' ? 'stdin' : path, async (text) => {
    if (!isReported) await context.report.note(text);
    isReported = true;
  });
  await runBatch(callStartOperation, invocation, context, split);
};
