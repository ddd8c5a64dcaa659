import type { Context } from '../context.ts';
import { Failure } from '../errors.ts';
import { pluralize } from '../json/pluralize.ts';
import { issueText } from '../output/failure-text.ts';
import type { OutputFormat } from '../results/output-format.ts';
import { printResult, resultOf } from '../results/print-result.ts';
import { type BatchInput, selectedLines } from './batch-input.ts';
import type { BatchOptions } from './batch-options.ts';
import { type LineChecks, prepareLine } from './prepare-line.ts';
import { digestInputLine } from './result-line.ts';

/**
 * Checks every line of a batch and sends nothing: counts are printed on stdout, errors on stderr. Throws Failure `body`
 * if lines are invalid.
 */
export async function checkBatch(
  input: BatchInput,
  options: BatchOptions,
  lineChecks: LineChecks,
  format: OutputFormat,
  context: Context,
): Promise<void> {
  const { stdout, report } = context;
  const counts = await checkLines(input, options, lineChecks, context);
  await printResult(resultOf(counts), { format, filter: undefined, writer: stdout, report });
  await stdout.end();
  requireValidLines(counts);
}

/** The lines of a batch, and how many of them may be sent. */
type LineCounts = Record<'lines' | 'good' | 'bad' | 'bytes', number>;

/** Counts the lines of a batch, and reports the errors in them. */
export async function checkLines(
  input: BatchInput,
  options: BatchOptions,
  lineChecks: LineChecks,
  { runtime, report, signal }: Context,
): Promise<LineCounts> {
  const counts = { lines: 0, good: 0, bad: 0, bytes: 0 };
  signal.addEventListener('abort', input.stop, { once: true });
  for await (const line of selectedLines(input, options)) {
    signal.throwIfAborted();
    const { draft } = await prepareLine(
      line,
      { digest: digestInputLine(line), timestampMs: runtime.now() },
      lineChecks,
    );
    counts.lines += 1;
    if (draft instanceof Failure) {
      counts.bad += 1;
      for (const issue of draft.facts.issues ?? []) await report.error(issueText(issue));
    } else {
      counts.good += 1;
      counts.bytes += draft.doc.bytes.length;
    }
  }
  signal.throwIfAborted();
  await lineChecks.customIds.finish();
  return counts;
}

/** Throws Failure `body` if lines are invalid. */
export function requireValidLines({ bad, lines }: LineCounts): void {
  if (bad === 0) return;
  const message = `${bad} of ${lines} ${pluralize(lines, 'line')} ${pluralize(bad, 'is', 'are')} invalid; nothing was sent`;
  throw new Failure('body', message, { applied: 'no' });
}
