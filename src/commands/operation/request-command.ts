import { batchFlags, promptFlags, type RequestOptions } from '../../batch/batch-flags.ts';
import { type CommandInput, rejectReplacedInputs, requireBodySource } from '../../body/body-base.ts';
import { givenText, readBodyFlags } from '../../body/body-flags.ts';
import { rejectInvalidFlags } from '../../body/flag-edits.ts';
import { fileReference } from '../../body/input-reader.ts';
import { likelyMistakes } from '../../body/likely-mistakes.ts';
import { resolveSettings, type Settings } from '../../client/resolve-settings.ts';
import type { RunCommand } from '../../command.ts';
import type { Context } from '../../context.ts';
import { usageFailure } from '../../errors.ts';
import { type Flag, isGiven } from '../../flag.ts';
import { createDeadline, type Deadline } from '../../http/time-limits.ts';
import { chatOperation } from '../../operations/chat.ts';
import type { Operation } from '../../operations/operation.ts';
import { type RunReport, runFilesOf, withRunReport } from '../../reports/run-report.ts';
import type { JqFilter } from '../../results/jq-filter.ts';
import { openResultFilter } from '../../results/print-result.ts';

export interface RequestStart {
  readonly settings: Settings;
  readonly options: RequestOptions;
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
): RunCommand<RequestOptions> {
  return async (invocation, context) => {
    const { args, options } = invocation;
    const { runtime } = context;
    const isBatch = options.batch !== undefined || options.rows !== undefined;
    // A training job may be copied to disk as well.
    const isOwn = (name: string): boolean => name === 'max-spool' && typeof operation.arguments?.as === 'object';
    const isMisplaced = ({ name }: Flag): boolean => !isBatch && isGiven(options, name) && !isOwn(name);
    const batchFlag = [...batchFlags, ...promptFlags].find(isMisplaced);
    if (batchFlag)
      throw usageFailure(
        `--${batchFlag.name} works only with --batch or --rows`,
        batchFlag.name === 'prompt'
          ? 'write a single prompt as an argument: svc chat "<prompt>"'
          : batchFlag.name === 'limit' && Object.hasOwn(operation.body, 'sample_limit')
            ? 'write --sample-limit <n>, or for lines --batch <file>'
            : 'write --batch <file>',
      );
    const given = readBodyFlags(operation, options);
    rejectInvalidFlags(operation, given, runtime.now());
    for (const mistake of likelyMistakes(args, given, isBatch)) await context.report.warn(mistake);
    fileReference(options.expectSchema ?? '', '--expect-schema');
    if (isBatch) {
      const { runBatch } = await import('../../batch/run-batch.ts');
      return await runBatch(operation, invocation, context);
    }
    const input = { operation, args, given, options, isStdinTerminal: runtime.stdin.isTTY === true };
    // Without a body, a chat may be a session.
    if (operation !== chatOperation) requireBodySource(input);
    const files = runFilesOf(options);
    await rejectReplacedInputs(input, files, runtime.cwd);
    const conversation = givenText(given, 'conversation');
    await withRunReport(files, conversation, `svc ${operation.command.join(' ')}`, context, async (runReport) => {
      const settings = await resolveSettings(operation, options, context);
      const deadline = createDeadline(settings.timeoutMs, runtime, settings.isTimeoutDefault);
      const filter = await openResultFilter(options, context, deadline.remainingMs);
      await runOne({ settings, options, input, deadline, filter, runReport }, context);
    });
  };
}
