import { createReadStream } from 'node:fs';
import { compareOutputs, type IndexedOutput } from '../../batch/store/compare-results.ts';
import { createLineTable } from '../../batch/store/line-table.ts';
import { MAX_RESULT_BYTES, type OutputPath, readOutput, resolveOutputs } from '../../batch/store/output-file.ts';
import type { Invocation } from '../../command.ts';
import type { Context } from '../../context.ts';
import { usageFailure } from '../../errors.ts';
import { rejectReplacedInput } from '../../files/file-replacement.ts';
import { unreadableInputFailure } from '../../files/read-input.ts';
import { splitLines } from '../../files/split-lines.ts';
import type { OptionsOfList } from '../../flag.ts';
import { rootOf } from '../../json/json-node.ts';
import { parseJson } from '../../json/parse-json.ts';
import { addToReport, type BatchReport, createBatchReport } from '../../reports/batch/batch-report.ts';
import { classifyLine, resultLineFacts } from '../../reports/batch/line-facts.ts';
import { comparisonHtml, reportHtml } from '../../reports/batch/report-html.ts';
import { comparisonJson, comparisonText, reportJson, reportText } from '../../reports/batch/report-text.ts';
import { checkHtmlPath, writeReportPage } from '../../reports/report-page.ts';
import type { ResultOptions } from '../../results/output-format.ts';
import { openResultOutput, printResult, resultOf } from '../../results/print-result.ts';
import type { batchReportFlags } from '../command-flags.ts';

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
  await rejectReplacedInput('--html', htmlPath, args, runtime.cwd);
  const files = await resolveOutputs(args, runtime.cwd);
  if (options.compare) {
    const [first, second] = files;
    if (!first || !second || args.length > 2)
      throw usageFailure(
        '--compare needs two different outputs',
        'run: svc batch report before.jsonl after.jsonl --compare',
      );
    const reports = [createBatchReport(first.displayPath), createBatchReport(second.displayPath)] as const;
    const comparison = await compareOutputs([await addFile(reports[0], first), await addFile(reports[1], second)]);
    await writeReportPage(htmlPath, () => comparisonHtml(reports, comparison), context);
    const text = (): string => comparisonText(reports, comparison);
    await printResult({ ...resultOf(comparisonJson(reports, comparison)), text }, output);
  } else {
    const report = createBatchReport(args.join(', '));
    for (const file of files) await addFile(report, file);
    await writeReportPage(htmlPath, () => reportHtml(report), context);
    await printResult({ ...resultOf(reportJson(report)), text: () => reportText(report, stdout.columns) }, output);
  }
}

async function addFile(report: BatchReport, file: OutputPath): Promise<IndexedOutput> {
  const table = createLineTable();
  const { validBytes } = await readOutput(file, 0, table);
  if (validBytes === 0) return { ...file, table };
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
      addToReport(report, root, classifyLine(entry.exitCode, entry.applied).status, facts);
    }
  } catch (error) {
    throw unreadableInputFailure(file.displayPath, error);
  }
  return { ...file, table };
}
