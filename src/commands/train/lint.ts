import { dirname, relative, resolve, sep } from 'node:path';
import type { RunCommand } from '../../command.ts';
import type { Context } from '../../context.ts';
import { Failure, type Place, safetyFailure, usageFailure } from '../../errors.ts';
import { rejectReplacedInput } from '../../files/file-replacement.ts';
import { prepareForTrajectories } from '../../files/heap-limit.ts';
import type { OptionsOfList } from '../../flag.ts';
import type { JsonPath } from '../../json/json-node.ts';
import { formatGithubAnnotation, issueText } from '../../output/failure-text.ts';
import type { ResultOptions } from '../../output/output-format.ts';
import { pluralize } from '../../output/transfer-text.ts';
import { ignoreClosedPipe } from '../../output/writer.ts';
import { type LintKind, lintKindNames } from '../../reports/lint/lint-kinds.ts';
import { createLinter, type LintResult } from '../../reports/lint/linter.ts';
import { lintHtml, lintJson, lintText } from '../../reports/lint/report.ts';
import { checkHtmlPath, writeReportPage } from '../../reports/report-page.ts';
import { openResultOutput, printResult, resultOf } from '../../results/print-result.ts';
import { parseGroupByPath } from '../../train/stream/groups.ts';
import { createTrajectorySources } from '../../train/stream/source.ts';
import { showCheckProgress } from '../../train/stream/upload.ts';
import type { lintFlags } from '../definitions/command-flags.ts';

type LintOptions = ResultOptions & OptionsOfList<typeof lintFlags> & { readonly errorFormat: string | undefined };

/** Prints what a trainer cannot learn from. Throws Failure `body` for what the service rejects, `safety_check` for `--fail-on`. */
export const runTrainLint: RunCommand<LintOptions> = async ({ args, options }, context) => {
  const { runtime, stdout, report } = context;
  const output = await openResultOutput('report', options, context);
  const htmlPath = checkHtmlPath(options.html);
  const hasPlot = options.plot === true;
  const fatal = parseFailOn(options.failOn ?? []);
  const path = parseGroupByPath(options.groupBy);
  const isAnnotated = options.annotations === 'github';
  if (isAnnotated && options.errorFormat === 'json')
    throw usageFailure('--annotations prints text lines on stderr', 'leave out --error-format json');
  const { result, labels } = await lintFiles(args, options, path, context);
  const isStrict = options.strict === true;
  const warnings = isStrict || isAnnotated ? [] : result.problems.filter(({ level }) => level === 'warning');
  // What all trajectories lack is said before anything else.
  for (const warning of warnings.filter(({ at }) => !at)) await report.warn(issueText(warning));
  await writeReportPage(htmlPath, () => lintHtml(result, labels, linkFrom(htmlPath, labels, runtime.cwd)), context);
  const text = (): string => lintText(result, stdout.columns, hasPlot);
  const printed = hasPlot ? ({ ...output, format: 'text' } as const) : output;
  await ignoreClosedPipe(printResult({ ...resultOf(lintJson(result)), text }, printed));
  if (isAnnotated) for (const line of annotationLines(result, fatal)) await report.error(line);
  else for (const warning of warnings.filter(({ at }) => at)) await report.warn(issueText(warning));
  for (const label of result.skippedLabels)
    await report.note(`${label}: invalid groups and trajectories were skipped; the figures are of the others`);
  for (const label of result.cutLabels)
    await report.note(`${label} was read up to where it is invalid; the figures are of what comes before`);
  const failure = lintFailure(result, fatal, isStrict);
  if (result.hint && !failure?.facts.hint) await report.note(result.hint);
  if (result.summary.groups === 0 && !failure)
    await report.warn(`there are no trajectories in ${labels.join(' ')}; write a group, or a trajectory, per line`);
  if (failure) throw failure;
};

async function lintFiles(files: readonly string[], options: LintOptions, path: JsonPath | undefined, context: Context) {
  const body = options.file;
  const paths = [...files, ...(body === undefined ? [] : [body])];
  if (paths.length === 0)
    throw usageFailure('svc train lint needs <files...>', 'write: svc train lint <files...>; - is stdin');
  if (paths.filter((file) => file === '-').length > 1)
    throw usageFailure('stdin was named twice, but can be read only once', 'write - only once');
  prepareForTrajectories(context.runtime.node);
  const sources = createTrajectorySources(context, undefined);
  try {
    const groupSources = await sources.openAll(files);
    const bodySources = body === undefined ? [] : [await sources.open(body)];
    const labels = [...groupSources, ...bodySources].map(({ label }) => label);
    await rejectReplacedInput('--html', options.html, labels, context.runtime.cwd);
    const { onBytes, end } = showCheckProgress([...groupSources, ...bodySources], context);
    try {
      const { read, finish } = createLinter(path, onBytes);
      for (const { label, readFirst } of groupSources) await read(label, readFirst(), 'groups');
      for (const { label, readFirst } of bodySources) await read(label, readFirst(), 'body');
      return { result: finish(), labels };
    } finally {
      end();
    }
  } finally {
    await sources.close();
  }
}

// Links are relative to the page, so that page and data can be moved together, and no name can be another kind of URL.
function linkFrom(htmlPath = '', labels: readonly string[], cwd: string) {
  const directory = dirname(resolve(cwd, htmlPath));
  return ({ label, line }: Place): string | undefined => {
    if (!labels.includes(label) || label === 'stdin') return undefined;
    const segments = relative(directory, resolve(cwd, label)).split(sep);
    return `./${segments.map(encodeURIComponent).join('/')}#L${line}`;
  };
}

function parseFailOn(flagValues: readonly string[]): readonly LintKind[] {
  const names = flagValues.flatMap((list) => list.split(',')).map((name) => name.trim());
  const kinds = names.flatMap((name) => {
    const kind = name === 'any' ? lintKindNames : lintKindNames.find((one) => one === name);
    if (kind) return kind;
    throw usageFailure(
      `--fail-on: ${JSON.stringify(name)} is not a kind of finding`,
      `use any, or one or more of ${lintKindNames.join(', ')}`,
    );
  });
  return [...new Set(kinds)];
}

function* annotationLines({ summary, problems }: LintResult, fatal: readonly LintKind[]): Generator<string> {
  for (const { level, at, path, message } of problems)
    yield formatGithubAnnotation({ level, at, title: path || 'body', message });
  for (const kind of lintKindNames)
    for (const { at, path, message } of summary.findings.examplesOf(kind))
      yield formatGithubAnnotation({
        level: fatal.includes(kind) ? 'error' : 'warning',
        at,
        title: kind,
        message: `${path}: ${message}`,
      });
}

function lintFailure(
  { summary, problems, hint }: LintResult,
  fatal: readonly LintKind[],
  isStrict: boolean,
): Failure | undefined {
  const errors = problems.filter(({ level }) => isStrict || level === 'error');
  if (errors.length > 0) {
    const count = errors.reduce((sum, { more = 0 }) => sum + 1 + more, 0);
    return new Failure('body', `svc train would not send these trajectories: ${count} ${pluralize(count, 'error')}`, {
      issues: errors,
      hint,
    });
  }
  const found = fatal.filter((kind) => summary.findings.count(kind) > 0);
  if (found.length === 0) return undefined;
  const counts = found.map((kind) => `${kind} (${summary.findings.count(kind)})`);
  return safetyFailure('expectation', `--fail-on: found ${counts.join(', ')}`, { applied: 'no' });
}
