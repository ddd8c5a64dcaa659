import { resolve } from 'node:path';
import { readJournal } from '../batch/history.ts';
import { openInput } from '../batch/input.ts';
import { isBlank } from '../batch/line.ts';
import { rangesText } from '../batch/ranges.ts';
import { intentsOf } from '../batch/results.ts';
import { emptyTable, type Table } from '../batch/table.ts';
import { type Named, writeEntries } from '../batch/tidy.ts';
import type { Invocation } from '../cli/command.ts';
import type { Context } from '../cli/context.ts';
import { Failure, usage } from '../errors.ts';
import { textOf } from '../fields/flag.ts';
import { exists } from '../files/reason.ts';
import { openSink } from '../output/sink.ts';
import type { Runtime } from '../runtime.ts';

/**
 * Puts the results of several batches together, in the order of their lines, and says what is missing. Throws Failure
 * `partial` where lines are missing or were not answered, after all that is there was written.
 */
export async function runBatchMerge({ args, flags }: Invocation, { runtime, stdout, report }: Context): Promise<void> {
  if (args.length === 0) throw usage('there is nothing to merge', 'svc batch merge a.jsonl b.jsonl -o all.jsonl');
  const table = emptyTable();
  const journals = args.map((typed) => ({ path: resolve(runtime.cwd, typed), typed }));
  for (const [at, { path, typed }] of journals.entries()) {
    if (!(await exists(path))) throw new Failure('local', `cannot read ${typed}: there is no such file or folder`);
    if (await exists(intentsOf(path)))
      await report.warn(`the batch of ${typed} is not complete; --resume goes on with it`);
    await readJournal(path, typed, at, table);
  }
  await writeMerged(table, journals, textOf(flags, 'output'), { runtime, stdout });
  const missing = await missingIn(table, textOf(flags, 'input'), runtime);
  const { summary, isComplete } = summaryOf(table, missing);
  if (isComplete) return report.note(summary);
  throw new Failure('partial', summary, {
    applied: 'unknown',
    hint: 'svc ... --batch --resume with the file of a shard sends what it lacks',
  });
}

async function writeMerged(
  table: Table,
  journals: readonly Named[],
  output: string | undefined,
  { runtime, stdout }: Pick<Context, 'runtime' | 'stdout'>,
): Promise<void> {
  const sink = await openSink(output, stdout, runtime.cwd);
  try {
    await writeEntries(table, journals, sink.writer.write);
    await sink.commit();
  } catch (error) {
    await sink.abandon();
    throw error;
  }
}

// Of the lines of the input; without it, of all up to the last that is there.
async function missingIn(table: Table, input: string | undefined, runtime: Runtime): Promise<number[]> {
  const missing: number[] = [];
  if (input === undefined) {
    for (let line = 1; line < table.last(); line += 1) if (!table.get(line)) missing.push(line);
    return missing;
  }
  const { lines } = await openInput(input, runtime, LONGEST);
  for await (const line of lines) if (!isBlank(line) && !table.get(line.number)) missing.push(line.number);
  return missing;
}

// Only what is longer than this may be blank to its end.
const LONGEST = 1024;

function summaryOf(table: Table, missing: readonly number[]): { summary: string; isComplete: boolean } {
  const counts = { done: 0, failed: 0, unknown: 0 };
  for (const line of table.lines()) {
    const { exitCode = 0, applied } = table.get(line) ?? {};
    counts[exitCode === 0 ? 'done' : applied === 'unknown' ? 'unknown' : 'failed'] += 1;
  }
  const { done, failed, unknown } = counts;
  const gaps = missing.length === 0 ? '' : `: ${rangesText(missing)}`;
  return {
    summary: `${done + failed + unknown} lines: ${done} done, ${failed} failed, ${unknown} unknown; ${missing.length} missing${gaps}`,
    isComplete: failed + unknown + missing.length === 0,
  };
}
