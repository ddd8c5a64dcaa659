import { Buffer } from 'node:buffer';
import { rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { parseResultEntry } from '../../batch/result-entry.ts';
import { resolveCallSettings } from '../../client/call-settings.ts';
import type { Invocation } from '../../command.ts';
import { dataDirectory } from '../../config/directories.ts';
import type { Context } from '../../context.ts';
import { Failure, toFailure } from '../../errors.ts';
import { firstStringMember, getMember, itemsAt, stringOf } from '../../json/json-node.ts';
import { tryParseJson } from '../../json/parse-json.ts';
import { callStartOperation } from '../../operations/call-start.ts';
import { pluralize } from '../../output/transfer-text.ts';
import { openResultOutput, printResult, resultOf } from '../../results/print-result.ts';
import { readSpool, type SpooledCall, spoolDirectory, traceTarget } from '../../trace/spool.ts';

// A flush is the last step of a job: it does not wait for a service that is down as long as a batch does.
const MAX_OUTAGE = '5s';

/**
 * Sends the spooled calls of the current trace base URL as a batch and leaves those of others. Prints the counts, and
 * throws the Failure of the batch; calls that were not confirmed stay in the spool.
 */
export async function runCallFlush(invocation: Invocation, context: Context): Promise<void> {
  const { flags } = invocation;
  const output = await openResultOutput('record', flags, context);
  const settings = await resolveCallSettings(callStartOperation, flags, context);
  const target = traceTarget(settings.destination);
  const spooled = await readSpool(spoolDirectory(dataDirectory(context.runtime)));
  const calls = spooled.filter((call) => call.target === target);
  const { sent, warnings, failure } = await sendCalls(calls, invocation, context);
  const remaining = calls.length - sent;
  const others = spooled.length - calls.length;
  await printResult(resultOf({ sent, remaining, other_base_urls: others }), output);
  await output.writer.end();
  if (warnings.length > 0)
    await context.report.warn(
      `${countOf(warnings.length, calls.length, 'response')} ${pluralize(warnings.length, 'has', 'have')} warnings: ${warnings[0]}`,
    );
  if (others > 0)
    await context.report.note(
      `${others} ${pluralize(others, 'call belongs', 'calls belong')} to other base URLs and ${pluralize(others, 'stays', 'stay')} in the spool`,
    );
  // A signal after the last call has nothing left to stop.
  if (failure && remaining > 0)
    throw new Failure(
      failure.code,
      `${countOf(remaining, calls.length, 'call')} ${pluralize(remaining, 'was', 'were')} not confirmed: ${failure.message}`,
      {
        ...failure.facts,
        hint: `${pluralize(remaining, 'it stays', 'they stay')} in the spool; send ${pluralize(remaining, 'it', 'them')} later with: svc call flush`,
      },
    );
}

function countOf(count: number, total: number, noun: string): string {
  return `${count} of ${total} ${pluralize(total, noun)}`;
}

// The input of the batch is the spool, and each result of a call that the service confirmed deletes the call. Returns the
// first warning of each response that has any.
async function sendCalls(
  calls: readonly SpooledCall[],
  { command, flags }: Invocation,
  context: Context,
): Promise<{ readonly sent: number; readonly warnings: readonly string[]; readonly failure?: Failure }> {
  const { runtime, report, stdout } = context;
  let sent = 0;
  const warnings: string[] = [];
  if (calls.length === 0) return { sent, warnings };
  let firstMessage: string | undefined;
  const onResults = async (results: string | Uint8Array): Promise<void> => {
    for (const result of results.toString().trimEnd().split('\n')) {
      const entry = parseResultEntry(Buffer.from(result));
      const call = calls[(entry?.line ?? 0) - 1];
      if (!entry || !call) continue;
      const root = tryParseJson(Buffer.from(result));
      firstMessage ??= firstStringMember(getMember(root, 'error'), 'message');
      const [warning] = itemsAt(root, 'warnings');
      if (warning) warnings.push(stringOf(warning));
      if (entry.exitCode !== 0) continue;
      await rm(call.file, { force: true });
      sent += 1;
    }
  };
  const resultFlags = ['format', 'json', 'jq', 'output'];
  const batchFlags = new Map([...flags].filter(([name]) => !resultFlags.includes(name)));
  batchFlags.set('batch', '-').set('exact', true).set('check', false).set('max-outage', MAX_OUTAGE);
  const batchContext: Context = {
    ...context,
    runtime: {
      ...runtime,
      env: { ...runtime.env, SVC_SHARD: undefined },
      isStdoutClosed: () => false,
      stdin: Readable.from(calls.map(({ body }) => Buffer.from(`${body}\n`))),
    },
    stdout: { ...stdout, write: onResults },
    // Lines of the spool mean nothing to a reader.
    report: { ...report, note: async () => {}, warn: async () => {} },
  };
  try {
    const { runBatch } = await import('../batch/batch.ts');
    await runBatch(callStartOperation, { command, args: [], flags: batchFlags }, batchContext);
    return { sent, warnings };
  } catch (error) {
    const { code, message, facts } = toFailure(error);
    return { sent, warnings, failure: new Failure(code, firstMessage ?? stopReason(message), facts) };
  }
}

// A message of the batch engine is its summary in lines, and why it stopped.
function stopReason(message: string): string {
  const isSummary = (part: string): boolean => /^\d+ lines?: /.test(part);
  const reason = message.split('; ').findLast((part) => !isSummary(part)) ?? 'svc stopped early';
  return reason.replace(' (--max-outage)', '');
}
