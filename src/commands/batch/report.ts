import { Buffer } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Prices, readPrices } from '../../batch/batch-options.ts';
import { isTableName, openTable } from '../../batch/read/table-records.ts';
import { withPrice } from '../../batch/send/budget.ts';
import { batchJournalFile, readBatchJournal } from '../../batch/store/batch-journal.ts';
import { createLineTable, type IndexedResult, type LineTable } from '../../batch/store/line-table.ts';
import type { OutputPath } from '../../batch/store/output-file.ts';
import { MAX_RESULT_BYTES, readOutput, readResult, resolveOutputs } from '../../batch/store/output-file.ts';
import { classifyLine, digestInputLine } from '../../batch/store/result-line.ts';
import type { Invocation } from '../../command.ts';
import { selectProfile } from '../../config/select-profile.ts';
import type { Context } from '../../context.ts';
import { exitCodes, toFailure, usageFailure } from '../../errors.ts';
import { withFileFailure } from '../../files/file-errors.ts';
import { rejectReplacedInput } from '../../files/file-replacement.ts';
import { limitYoungGeneration } from '../../files/heap-limit.ts';
import { unreadableInputFailure } from '../../files/read-input.ts';
import { splitLines } from '../../files/split-lines.ts';
import type { OptionsOfList } from '../../flag.ts';
import { firstStringMember, getMember, rootOf } from '../../json/json-node.ts';
import { parseJson, tryParseJson } from '../../json/parse-json.ts';
import { promptText } from '../../operations/chat-text.ts';
import type { ResultOptions } from '../../output/output-format.ts';
import type { BatchReport, Comparison } from '../../reports/batch/batch-report.ts';
import {
  addToReport,
  createBatchReport,
  createComparison,
  differentChecks,
  resultText,
  truncateSample,
} from '../../reports/batch/batch-report.ts';
import { resultLineFacts } from '../../reports/batch/line-facts.ts';
import { comparisonHtml, reportHtml } from '../../reports/batch/report-html.ts';
import { comparisonJson, comparisonText, reportJson, reportText } from '../../reports/batch/report-text.ts';
import { checkHtmlPath, writeReportPage } from '../../reports/report-page.ts';
import { openResultOutput, printResult, resultOf } from '../../results/print-result.ts';
import type { batchReportFlags } from '../definitions/command-flags.ts';

/** Summarizes the outputs of batches, or compares two. Throws Failure `local_file` for a file that is not an output. */
export async function runBatchReport(
  { args, options }: Invocation<ResultOptions & OptionsOfList<typeof batchReportFlags>>,
  context: Context,
): Promise<void> {
  const { runtime, stdout } = context;
  const output = await openResultOutput('report', options, context);
  if (args.length === 0)
    throw usageFailure('batch report needs the output of a batch', 'run: svc batch report out.jsonl');
  const htmlPath = checkHtmlPath(options.html);
  const inputs = [...args, ...(options.input === undefined ? [] : [options.input])];
  await rejectReplacedInput('--html', htmlPath, inputs, runtime.cwd);
  const files = await resolveOutputs(args, runtime.cwd);
  limitYoungGeneration();
  // Without a profile that can be read, a report has the prices of its flags.
  const profile = await selectProfile({}, context).catch((error: unknown) =>
    context.report.warn(toFailure(error).message),
  );
  const prices = readPrices({ options, env: runtime.env, selected: profile ?? { name: '', profile: {} } });
  const hasPlot = options.plot === true;
  const printed = hasPlot ? ({ ...output, format: 'text' } as const) : output;
  if (options.compare) {
    const [first, second] = files;
    if (!first || !second || args.length > 2)
      throw usageFailure(
        '--compare needs two different outputs',
        'run: svc batch report before.jsonl after.jsonl --compare',
      );
    const reports = [createBatchReport(first.displayPath), createBatchReport(second.displayPath)] as const;
    const tables = [
      await addFile(reports[0], first, prices, context),
      await addFile(reports[1], second, prices, context),
    ] as const;
    const comparison = await compareOutputs(tables, differentChecks(reports).flat().length > 0);
    for (const [at, report] of reports.entries())
      await addPrompts(report, tables.slice(at, at + 1), options.input, context);
    await writeReportPage(htmlPath, () => comparisonHtml(reports, comparison), context);
    const text = (): string => comparisonText(reports, comparison);
    await printResult({ ...resultOf(comparisonJson(reports, comparison)), text }, printed);
  } else {
    const report = createBatchReport(args.join(', '));
    const outputs = [];
    for (const file of files) outputs.push(await addFile(report, file, prices, context));
    if (!outputs.some(({ sent }) => sent))
      await context.report.warn(`there are no results of a batch in ${args.join(' ')}`);
    await addPrompts(report, outputs, options.input, context);
    await writeReportPage(htmlPath, () => reportHtml(report), context);
    const text = (): string => reportText(report, stdout.columns, hasPlot);
    await printResult({ ...resultOf(reportJson(report)), text }, printed);
  }
}

async function addFile(
  report: BatchReport,
  file: OutputPath,
  prices: Prices,
  context: Context,
): Promise<IndexedOutput> {
  const table = createLineTable();
  // Before the output: a result that comes in between belongs to a line that was sent.
  const journal = await readBatchJournal(await batchJournalFile(file), table).catch(async (error: unknown) => {
    await context.report.warn(toFailure(error).message);
    return undefined;
  });
  const { validBytes } = await readOutput(file, 0, table);
  addMissingLines(report, table, journal);
  if (validBytes === 0) return { ...file, table };
  let sent: IndexedOutput['sent'];
  try {
    for await (const { bytes, offset } of splitLines(
      createReadStream(file.path, { end: validBytes - 1 }),
      MAX_RESULT_BYTES,
    )) {
      if (!bytes || bytes.length === 0) continue;
      const root = rootOf(parseJson(bytes));
      const facts = resultLineFacts(root);
      const entry = table.result(facts.line);
      if (entry?.offset !== offset) continue;
      const received = withPrice(facts.received, prices);
      addToReport(report, root, classifyLine(entry.exitCode, entry.applied).status, { ...facts, received });
      const checkpoint = getMember(root, 'checkpoint');
      const [input = '', row = ''] = ['input', 'row'].map((name) => firstStringMember(checkpoint, name));
      sent ??= { number: facts.line, input, row };
    }
  } catch (error) {
    throw unreadableInputFailure(file.displayPath, error);
  }
  return { ...file, table, sent };
}

// The journal, if there is one, knows of lines that the output lacks: those that were sent, and the number of all.
function addMissingLines(
  report: BatchReport,
  table: LineTable,
  journal: Awaited<ReturnType<typeof readBatchJournal>>,
): void {
  let known = 0;
  for (const line of table.lines()) {
    known += 1;
    if (!table.result(line)) report.statistics.byStatus.unknown += 1;
  }
  const total = journal?.counted?.lines;
  if (journal && total === undefined) report.isInputUnread = true;
  report.unsent += total === undefined ? Number.NaN : Math.max(0, total - known);
}

/** An output whose results are in a table, and the line of the first one, with the digests of this line and of its row. */
interface IndexedOutput extends OutputPath {
  readonly table: LineTable;
  readonly sent?: { readonly number: number; readonly input: string; readonly row: string } | undefined;
}

/**
 * Compares the results of two outputs line by line; with different checks, a response that failed one counts as any other.
 * Throws Failure `local_file` if one cannot be read.
 */
async function compareOutputs(
  [first, second]: readonly [IndexedOutput, IndexedOutput],
  hasDifferentChecks: boolean,
): Promise<Comparison> {
  const comparison = createComparison();
  const { changes } = comparison;
  const handles = new Map<IndexedOutput, FileHandle>();
  const readText = async (output: IndexedOutput, place: IndexedResult): Promise<string | undefined> => {
    const handle = handles.get(output);
    if (!handle) return undefined;
    const facts = resultLineFacts(tryParseJson(await readResult(handle, place, output.displayPath)));
    return resultText(hasResult(place) ? { ...facts, message: undefined } : facts);
  };
  const hasResult = ({ exitCode, applied }: IndexedResult): boolean =>
    exitCode === 0 || (hasDifferentChecks && exitCode === exitCodes.safety_check.code && applied === 'yes');
  try {
    for (const output of [first, second])
      handles.set(output, await withFileFailure('read', output.displayPath, () => open(output.path)));
    const lastLine = Math.max(first.table.lastLine(), second.table.lastLine());
    for (let line = 1; line <= lastLine; line += 1) {
      const [before, after] = [first.table.result(line), second.table.result(line)];
      if (before && !after) comparison.onlyFirst += 1;
      if (after && !before) comparison.onlySecond += 1;
      if (!before || !after) continue;
      comparison.compared += 1;
      const [was = '', is = ''] = await Promise.all([readText(first, before), readText(second, after)]);
      const isDone = [before, after].map(hasResult);
      if (!isDone.includes(true)) comparison.failedInBoth += 1;
      const change = isDone[0] === isDone[1] ? 'different' : isDone[0] ? 'worse' : 'better';
      if (change !== 'different' || was !== is)
        changes[change].add(() => ({ line, before: truncateSample(was), after: truncateSample(is) }));
    }
  } finally {
    for (const handle of handles.values()) await handle.close();
  }
  return comparison;
}

// Of the lines that are samples: the last message of a user, the cells of a row, or the line. None of another input.
async function addPrompts(
  report: BatchReport,
  outputs: readonly IndexedOutput[],
  path: string | undefined,
  { runtime, report: { warn } }: Context,
): Promise<void> {
  if (path === undefined) return;
  const wanted = new Set([...report.failures.values(), ...report.responses.values()].map(({ line }) => line));
  const chunks = createReadStream(resolve(runtime.cwd, path));
  const isTable = isTableName(path);
  try {
    for await (const [number, bytes, digest] of isTable ? tableRows(chunks, path) : inputLines(chunks)) {
      const sent = outputs.find((output) => output.sent?.number === number)?.sent;
      const recorded = isTable ? sent?.row : sent?.input;
      if (recorded && recorded !== digest) {
        report.prompts.clear();
        return warn(
          `line ${number} of ${path} is not the one that was sent; name the input of that batch with --input`,
        );
      }
      if (wanted.has(number)) report.prompts.set(number, truncateSample(promptOf(bytes)));
    }
  } catch (error) {
    throw unreadableInputFailure(path, error);
  }
}

type NumberedText = readonly [number: number, bytes: Buffer, digest: string];

async function* inputLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<NumberedText> {
  for await (const line of splitLines(chunks, MAX_RESULT_BYTES))
    if (line.bytes) yield [line.number, line.bytes, digestInputLine(line)];
}

async function* tableRows(chunks: AsyncIterable<Uint8Array>, path: string): AsyncGenerator<NumberedText> {
  const { records } = await openTable(chunks, path, undefined, MAX_RESULT_BYTES);
  // The header is no row.
  let number = -1;
  for await (const { raw, digest } of records) {
    number += 1;
    yield [number, Buffer.from(raw), digest];
  }
}

function promptOf(bytes: Buffer): string {
  const body = tryParseJson(bytes);
  return promptText(getMember(body, 'body') ?? body) ?? bytes.toString();
}
