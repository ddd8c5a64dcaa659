import { spanSplitter } from '../../batch/read/span-input.ts';
import { runBatch } from '../../batch/run-batch.ts';
import type { RunCommand } from '../../command.ts';
import { callStartOperation } from '../../operations/call-start.ts';

/** Records the spans of a file of OTLP/JSON as calls: a batch whose lines are the spans. Throws what runBatch throws. */
export const runCallImport: RunCommand = async ({ args: [path = '-'], flags, command }, context) => {
  const invocation = { command, args: [], flags: new Map([...flags, ['batch', path]]) };
  // A batch that is resumed reads its input twice.
  let isReported = false;
  const split = spanSplitter(path === '-' ? 'stdin' : path, async (text) => {
    if (!isReported) await context.report.note(text);
    isReported = true;
  });
  await runBatch(callStartOperation, invocation, context, split);
};
