import type { Input } from '../../batch/input.ts';
import { isBlank, type Line } from '../../batch/line.ts';
import { isInShard } from '../../batch/shard.ts';
import { count, emptyTally } from '../../batch/tally.ts';
import { worksOf } from '../../batch/works.ts';
import { failureOf, Interrupted } from '../../errors.ts';
import { ClosedPipe } from '../../output/writer.ts';
import type { Job } from './job.ts';
import type { BatchOptions } from './options.ts';
import { type Ended, runLine } from './run-line.ts';
import { endOf, summaryText } from './summary.ts';
import { progressText } from './watch.ts';

// Lines that are being made, wait for another try or for their place, besides those under way.
const AHEAD = 4;
const AHEAD_ORDERED = 16;

// Above this the service is not short for a moment: the rest is better sent later.
const LONGEST_WAIT = 60_000;

/** Runs all lines of an input. Throws the Failure the whole is, after all that could be recorded was. */
export async function runLines(input: Input, batch: BatchOptions, job: Job): Promise<void> {
  const { context, results, places } = job;
  const { runtime, signal } = context;
  const tally = emptyTally();
  const works = worksOf(batch.speed.concurrency * (batch.isOrdered ? AHEAD_ORDERED : AHEAD));
  const started = runtime.elapsed();
  let stopped: string | undefined;
  let broken: unknown;
  const stop = (why: string): void => {
    stopped ??= why;
    job.quit.abort(new Interrupted('SIGINT'));
    // What is left of a file is counted; nobody knows when a pipe will end.
    if (input.size === undefined) input.stop();
  };
  const after = ({ failure }: Ended): void => {
    if (failure && batch.isFailFast) stop('a line failed (--fail-fast)');
    const wait = failure?.facts.retryAfter ?? 0;
    if (wait > LONGEST_WAIT) stop(`the service asks to wait ${Math.ceil(wait / 1000)} s`);
  };
  const work = async (line: Line): Promise<void> => {
    const place = places();
    try {
      const ended = await runLine(line, place, job);
      tally.repeats += Math.max(0, ended.attempts - 1);
      count(tally, line.number, ended.verdict);
      if (ended.isOpen) tally.open += 1;
      after(ended);
    } catch (error) {
      // What came of it is not on record; the next time it counts as unknown.
      count(tally, line.number, 'unknown');
      broken ??= error;
      stop('the results cannot be written');
      // Those after it would wait for it.
      await place.put(undefined);
    }
  };
  const elapsed = (): number => runtime.elapsed() - started;
  const watched = { tally, size: input.size, allowed: job.pace.allowed, elapsed };
  const endSpinner = context.spin(() => progressText(watched));
  const halt = (): void => stop(String(signal.reason.message));
  signal.addEventListener('abort', halt, { once: true });
  if (signal.aborted) halt();
  context.atInterrupt(() => stop('interrupted'));
  context.underway(() => ({ applied: 'unknown', hint: '--resume goes on' }));
  let unreadable: unknown;
  try {
    for await (const line of input.lines) {
      tally.bytes = line.offset + line.length;
      if (!isInShard(line.number, batch.shard)) continue;
      if (isBlank(line)) tally.blank += 1;
      else if (stopped !== undefined) count(tally, line.number, 'unsent');
      else await works.start(() => work(line));
    }
  } catch (error) {
    unreadable = error;
  }
  await works.ended();
  endSpinner();
  const isComplete = stopped === undefined && unreadable === undefined && tally.open + tally.counts.unsent === 0;
  await results.end(isComplete).catch((error: unknown) => {
    broken ??= error;
  });
  if (broken instanceof ClosedPipe) throw broken;
  const summary = summaryText(tally, elapsed());
  if (broken ?? unreadable) {
    await context.report.note(summary);
    throw failureOf(broken ?? unreadable);
  }
  const failure = endOf({ tally, summary, stopped, reason: signal.reason, isJournal: results.isJournal });
  if (failure) throw failure;
  await context.report.note(summary);
}
