import { resolve } from 'node:path';
import { addResult, type BatchStatistics, createBatchStatistics } from '../../batch/batch-statistics.ts';
import { classifyLine } from '../../batch/line-result.ts';
import { createLineTable } from '../../batch/line-table.ts';
import { type OutputPath, readOutput, readResultLines, resolveOutputs } from '../../batch/output-file.ts';
import { reportHtml } from '../../batch/report-html.ts';
import { reportJson, reportText } from '../../batch/report-text.ts';
import type { Invocation } from '../../command.ts';
import type { Context } from '../../context.ts';
import { usageFailure } from '../../errors.ts';
import { rejectReplacedInput, writeFileAtomically } from '../../files/file-replacement.ts';
import { getStringFlag } from '../../flag.ts';
import { openResultOutput, printResult, resultOf } from '../../results/print-result.ts';

/** Summarizes the outputs of batches. Throws usage without files, and Failure `local_file` for one that is not an output. */
export async function runBatchReport({ args, flags }: Invocation, context: Context): Promise<void> {
  const { runtime, stdout, report } = context;
  const output = await openResultOutput('report', flags, context);
  if (args.length === 0)
    throw usageFailure('batch report needs the output of a batch', 'run: svc batch report out.jsonl');
  const htmlPath = getStringFlag(flags, 'html');
  if (htmlPath === '-') throw usageFailure('--html writes a file, not stdout', 'name a file, such as report.html');
  await rejectReplacedInput('--html', htmlPath, args, runtime.cwd);
  const statistics = createBatchStatistics();
  for (const file of await resolveOutputs(args, runtime.cwd)) await addFile(statistics, file);
  if (htmlPath !== undefined) {
    await writeFileAtomically(resolve(runtime.cwd, htmlPath), htmlPath, reportHtml(statistics, args), 0o600);
    await report.note(`wrote ${htmlPath}`);
  }
  const text = (): { text: string }[] => [{ text: reportText(statistics, stdout.columns) }];
  await printResult({ ...resultOf(reportJson(statistics)), text }, output);
  await stdout.end();
}

// Of several results of a line, one counts.
async function addFile(statistics: BatchStatistics, file: OutputPath): Promise<void> {
  const table = createLineTable();
  const state = await readOutput(file, 0, table);
  for await (const { offset, line, ...facts } of readResultLines(file, state?.validBytes ?? 0)) {
    const entry = table.result(line);
    if (entry?.offset !== offset) continue;
    const { status } = classifyLine(entry.exitCode, entry.applied);
    addResult(statistics, { line, status, ...facts });
  }
}
