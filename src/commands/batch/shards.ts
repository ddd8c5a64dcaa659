import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { writeIndex } from '../../batch/read/input-index.ts';
import { batchJournalFile, readBatchJournal } from '../../batch/store/batch-journal.ts';
import { createLineTable } from '../../batch/store/line-table.ts';
import { findOutputs, type OutputPath, readOutput } from '../../batch/store/output-file.ts';
import { classifyLine } from '../../batch/store/result-line.ts';
import type { Invocation } from '../../command.ts';
import type { Context } from '../../context.ts';
import { Failure, toFailure, usageFailure } from '../../errors.ts';
import { pathExists, withFileFailure } from '../../files/file-errors.ts';
import { readLockHolder } from '../../files/file-lock.ts';
import { createGarbageLimit, limitYoungGeneration } from '../../files/heap-limit.ts';
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

/** Prints how far each shard came, also of those that run. Throws Failure `safety_check` after one whose files cannot be read. */
export async function runBatchStatus({ args, options }: Invocation<ResultOptions>, context: Context): Promise<void> {
  const { runtime } = context;
  const output = await openResultOutput('rows', options, context);
  if (args.length === 0)
    throw usageFailure('batch status needs a directory or output files', 'run: svc batch status .');
  const found = await Promise.all(args.map((path) => findOutputs(path, runtime.cwd)));
  const rows: ShardStatus[] = [];
  const failures: Failure[] = [];
  limitYoungGeneration();
  // Each shard has a table.
  const collectGarbage = createGarbageLimit();
  for (const displayPath of new Set(found.flat())) {
    const row = await readStatus({ path: resolve(runtime.cwd, displayPath), displayPath }, context).catch(toFailure);
    if (row instanceof Failure) failures.push(row);
    else rows.push(row);
    collectGarbage(false);
  }
  const table = (): string[][] => [
    ['SHARD', 'STATE', 'DONE', 'FAILED', 'UNKNOWN', 'UNSENT', 'PROCESS', 'PROGRESS', 'OUTPUT'],
    ...rows.map(({ pid, host, output: path, ...row }) => [
      row.shard ?? '-',
      row.state === 'complete' && row.failed > 0 ? `complete, ${row.failed} failed` : row.state,
      ...[row.done, row.failed, row.unknown, row.unsent].map((count) => String(count ?? '-')),
      pid === null ? '-' : `${pid} on ${host}`,
      row.last_progress?.replace(/\.\d+Z$/, 'Z') ?? '-',
      path,
    ]),
  ];
  if (rows.length > 0) await printResult({ ...resultOf(rows), columns: Object.keys(rows[0] ?? {}), table }, output);
  for (const failure of failures.slice(1)) await context.report.error(failure.message);
  if (failures[0]) throw failures[0];
}

type ShardStatus = Awaited<ReturnType<typeof readStatus>>;

// The journal is read before the output: a result that comes in between belongs to a line that was sent.
async function readStatus(output: OutputPath, { runtime }: Context) {
  const { path, displayPath } = output;
  const table = createLineTable();
  const journalFile = await batchJournalFile(output);
  const journal = await readBatchJournal(journalFile, table);
  const { exists, checkpoints } = await readOutput(output, 0, table);
  if (!journal && !exists)
    throw new Failure('local_file', `cannot read ${displayPath}: no such output of a batch`, {
      hint: 'name the file that --batch wrote with -o, or its directory',
    });
  const counts = { done: 0, failed: 0, unknown: 0 };
  for (const line of table.lines()) {
    const result = table.result(line);
    const isOpen = table.sent(line) !== undefined && result?.applied !== 'yes';
    const { status } = isOpen ? { status: 'unknown' as const } : classifyLine(result?.exitCode ?? 0, result?.applied);
    if (status !== 'unsent') counts[status] += 1;
  }
  const run = journal?.runs.at(-1);
  const { done, failed, unknown } = counts;
  const holder = readLockHolder(path, runtime);
  const known = done + failed + unknown;
  const { empty = 0, lines: counted } = journal?.counted ?? {};
  const part = run?.part;
  // A run that resumes after lines were appended counts them at its end.
  const expected = (holder ? undefined : counted) ?? (part && part.lines - empty);
  const unsent = expected === undefined || known > expected ? null : expected - known;
  const isComplete = unsent === 0 && unknown === 0;
  const state = holder?.isRunning ? 'running' : isComplete ? 'complete' : holder ? 'died' : 'stopped';
  const times: number[] = [];
  for (const file of [path, journalFile.path]) if (await pathExists(file)) times.push((await stat(file)).mtimeMs);
  return {
    shard: run?.shard ?? checkpoints[0]?.shard ?? null,
    state,
    ...counts,
    /** Null until the input is read to its end, except of a part of a file, whose empty lines count until then. */
    unsent,
    host: holder?.host ?? null,
    pid: holder?.pid ?? null,
    last_progress: times.length === 0 ? null : new Date(Math.max(...times)).toISOString(),
    output: displayPath,
  };
}
