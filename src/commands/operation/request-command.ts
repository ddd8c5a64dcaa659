import { batchFlags, promptFlags, type RequestOptions } from '../../batch/batch-flags.ts';
import { type CommandInput, rejectReplacedInputs } from '../../body/body-base.ts';
import { type BodyFlags, givenText, givenTexts, readBodyFlags } from '../../body/body-flags.ts';
import { rejectInvalidFlags } from '../../body/flag-edits.ts';
import { fileReference } from '../../body/input-reader.ts';
import { resolveSettings, type Settings } from '../../client/resolve-settings.ts';
import type { RunCommand } from '../../command.ts';
import type { Context } from '../../context.ts';
import { usageFailure } from '../../errors.ts';
import { type Flag, isGiven } from '../../flag.ts';
import { createDeadline, type Deadline } from '../../http/time-limits.ts';
import { itemsOf, kindOf, stringOf } from '../../json/json-node.ts';
import { tryParseJson } from '../../json/parse-json.ts';
import type { Operation } from '../../operations/operation.ts';
import { type RunReport, withRunReport } from '../../reports/run-report.ts';
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
    for (const mistake of likelyMistakes(args, given)) await context.report.warn(mistake);
    fileReference(options.expectSchema ?? '', '--expect-schema');
    if (isBatch) {
      const { runBatch } = await import('../../batch/run-batch.ts');
      return await runBatch(operation, invocation, context);
    }
    const input = { operation, args, given, options, isStdinTerminal: runtime.stdin.isTTY === true };
    const { output, junit, summary } = options;
    await rejectReplacedInputs(input, { '-o': output, '--junit': junit, '--summary': summary }, runtime.cwd);
    const conversation = givenText(given, 'conversation');
    await withRunReport(options, conversation, `svc ${operation.command.join(' ')}`, context, async (runReport) => {
      const settings = await resolveSettings(operation, options, context);
      const deadline = createDeadline(settings.timeoutMs, runtime, settings.isTimeoutDefault);
      const filter = await openResultFilter(options, context, deadline.remainingMs);
      await runOne({ settings, options, input, deadline, filter, runReport }, context);
    });
  };
}

const TYPOGRAPHIC_EDGE = /^["'\s]*[\u2018-\u201f\u00ab\u00bb\u00a0]|[\u201c-\u201f\u00ab\u00bb\u00a0]$/;

function likelyMistakes(args: readonly string[], given: BodyFlags): string[] {
  const edge = args.find((word) => TYPOGRAPHIC_EDGE.test(word));
  const lists = Array.from(given.keys()).flatMap((name) =>
    givenTexts(given, name).flatMap((text) => {
      const root = /^\s*\[.*\]\s*$/s.test(text) ? tryParseJson(text) : undefined;
      if (!root || kindOf(root) !== 'list') return [];
      const values = Array.from(itemsOf(root), (item) => (kindOf(item) === 'string' ? `"${stringOf(item)}"` : 'x'));
      return `--${name} ${text} is one text; for several, write ${values.map((value) => `--${name} ${value}`).join(' ')}`;
    }),
  );
  const files = ['system', 'developer', 'prefill'].map((name) => ({
    name,
    file: /^@([\w./~-]+\.\w+)$/.exec(givenText(given, name) ?? '')?.[1],
  }));
  const model = givenText(given, 'model');
  return [
    ...(model === '' || (model !== undefined && /\s/.test(model))
      ? [`--model ${JSON.stringify(model)} is sent as it is; is a variable unset, or its value missing?`]
      : []),
    ...files.flatMap(({ name, file }) =>
      file ? [`--${name} @${file} is sent as text; for the text of the file, write --${name} "$(cat ${file})"`] : [],
    ),
    ...(edge === undefined
      ? []
      : [`${JSON.stringify(edge)} begins or ends with a typographic quote or a no-break space, which is sent`]),
    ...lists,
  ];
}
