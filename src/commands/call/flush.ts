import { Buffer } from 'node:buffer';
import { resolveCallSettings } from '../../client/call-settings.ts';
import { sendBody } from '../../client/send-body.ts';
import type { Invocation } from '../../command.ts';
import { dataDirectory } from '../../config/directories.ts';
import type { Context } from '../../context.ts';
import { Failure, toFailure } from '../../errors.ts';
import { callStartOperation } from '../../operations/call-start.ts';
import { openResultOutput, printResult, resultOf } from '../../results/print-result.ts';
import { traceTarget } from '../../trace/call-record.ts';
import { readSpool, removeSpooledCall, type SpooledCall, spoolDirectory } from '../../trace/spool.ts';

/** How many calls are sent at the same time. */
const FLUSH_CONCURRENCY = 8;

interface FlushCounts {
  sent: number;
  failed: number;
  failure: Failure | undefined;
}

/**
 * Sends the spooled calls of the current trace base URL and leaves those of others. Prints the counts. Throws the first
 * Failure after all calls were tried; calls that were not confirmed stay in the spool.
 */
export async function runCallFlush({ flags }: Invocation, context: Context): Promise<void> {
  const output = await openResultOutput('record', flags, context);
  const settings = await resolveCallSettings(callStartOperation, flags, context);
  const target = traceTarget(settings.destination);
  const spooled = await readSpool(spoolDirectory(dataDirectory(context.runtime)));
  const mine = spooled.filter((call) => call.target === target);
  const counts: FlushCounts = { sent: 0, failed: 0, failure: undefined };
  const queue = mine.values();
  const sendNext = async (): Promise<void> => {
    for (const call of queue) {
      context.signal.throwIfAborted();
      await sendSpooledCall(call);
      // While nothing can be connected to, the other calls would only fail one by one.
      if (counts.failure?.code === 'unreachable') return;
    }
  };
  const sendSpooledCall = async ({ file, body }: SpooledCall): Promise<void> => {
    try {
      await sendBody(callStartOperation, Buffer.from(body), settings, context, context.signal);
      await removeSpooledCall(file);
      counts.sent += 1;
    } catch (error) {
      counts.failed += 1;
      counts.failure ??= toFailure(error);
    }
  };
  await Promise.all(Array.from({ length: FLUSH_CONCURRENCY }, sendNext));
  const remaining = mine.length - counts.sent;
  const others = spooled.length - mine.length;
  await printResult(resultOf({ sent: counts.sent, remaining, other_base_urls: others }), output);
  await output.writer.end();
  if (others > 0) await context.report.note(`${others} calls belong to other base URLs and stay in the spool`);
  if (!counts.failure) return;
  const { code, message, facts } = counts.failure;
  throw new Failure(code, `${remaining} of ${mine.length} calls were not sent: ${message}`, facts);
}
