import { batchFlags } from '../../batch/batch-flags.ts';
import { type CommandInput, rejectReplacedInputs } from '../../body/body-base.ts';
import { rejectInvalidFlags } from '../../body/flag-edits.ts';
import { resolveSettings, type Settings } from '../../client/resolve-settings.ts';
import type { RunCommand } from '../../command.ts';
import type { Context } from '../../context.ts';
import { usageFailure } from '../../errors.ts';
import type { FlagValues } from '../../flag.ts';
import { createDeadline, type Deadline } from '../../http/time-limits.ts';
import type { Operation } from '../../operations/operation.ts';
import { type RunReport, withRunReport } from '../../reports/run-report.ts';
import type { JqFilter } from '../../results/jq-filter.ts';
import { openResultFilter } from '../../results/print-result.ts';

export interface RequestStart {
  readonly settings: Settings;
  readonly flags: FlagValues;
  readonly input: CommandInput;
  /** For reading input, attempts, waits and the response. */
  readonly deadline: Deadline;
  readonly filter: JqFilter | undefined;
  readonly runReport: RunReport | undefined;
}

/** A command that is a batch with `--batch` or `--rows`, else `runOne` with all settings, before any input is read. */
export function requestCommand(
  operation: Operation,
  runOne: (start: RequestStart, context: Context) => Promise<void>,
): RunCommand {
  return async (invocation, context) => {
    const { args, flags } = invocation;
    const { runtime } = context;
    const isBatch = flags.has('batch') || flags.has('rows');
    const batchFlag = isBatch ? undefined : [...batchFlags, { name: 'prompt' }].find(({ name }) => flags.has(name));
    if (batchFlag) throw usageFailure(`--${batchFlag.name} works only with --batch or --rows`, 'write --batch <file>');
    rejectInvalidFlags(operation, flags, runtime.now());
    if (isBatch) {
      const { runBatch } = await import('../../batch/run-batch.ts');
      return await runBatch(operation, invocation, context);
    }
    await rejectReplacedInputs({ operation, args, flags }, runtime.cwd);
    await withRunReport(flags, `svc ${operation.command.join(' ')}`, context, async (runReport) => {
      const settings = await resolveSettings(operation, flags, context);
      const deadline = createDeadline(settings.timeoutMs, runtime, settings.isTimeoutDefault);
      const filter = await openResultFilter(flags, context, deadline.remainingMs);
      const input = { operation, args, flags, isStdinTerminal: runtime.stdin.isTTY === true };
      await runOne({ settings, flags, input, deadline, filter, runReport }, context);
    });
  };
}
