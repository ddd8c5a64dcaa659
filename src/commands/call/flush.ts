import { Buffer } from 'node:buffer';
import { Readable } from 'node:stream';
import { parseResultEntry, type ResultEntry } from '../../batch/parse-result-entry.ts';
import { resolveCallSettings } from '../../client/call-settings.ts';
import type { Invocation } from '../../command.ts';
import { dataDirectory } from '../../config/directories.ts';
import type { Context } from '../../context.ts';
import { exitCodes, Failure, type Issue, toFailure } from '../../errors.ts';
import type { FlagValues } from '../../flag.ts';
import { firstStringMember, getMember, itemsAt, stringOf } from '../../json/json-node.ts';
import { tryParseJson } from '../../json/parse-json.ts';
import { pluralize } from '../../json/pluralize.ts';
import { callStartOperation } from '../../operations/call-start.ts';
import { openResultOutput, printResult, resultOf } from '../../results/print-result.ts';
import {
  flushCommand,
  readSpool,
  removeIncompleteCalls,
  removeSpooledCall,
  type SpooledCall,
  spoolDirectory,
  traceTarget,
} from '../../trace/spool.ts';

// A flush is the last step of a job: it does not wait for a service that is down as long as a batch does.
const MAX_OUTAGE = '5s';

const MAX_LISTED_FILES = 10;
const MAX_LISTED_TARGETS = 3;

/**
 * Sends the spooled calls of the current trace base URL as a batch and leaves those of others. Prints the counts, and
 * throws the Failure of the batch; calls that were not confirmed stay in the spool.
 */
export async function runCallFlush(invocation: Invocation, context: Context): Promise<void> {
  const { flags } = invocation;
  const output = await openResultOutput('record', flags, context);
  const settings = await resolveCallSettings(callStartOperation, flags, context);
  const target = traceTarget(settings.destination);
  const directory = spoolDirectory(dataDirectory(context.runtime));
  const removed = await removeIncompleteCalls(directory, context.runtime);
  const spooled = await readSpool(directory);
  const calls = spooled.filter((call) => call.target === target);
  const { sent, unaccepted, failure, removalFailure } = await sendCalls(calls, invocation, context);
  const remaining = calls.length - sent;
  const others = spooled.filter((call) => call.target !== target);
  await printResult(resultOf({ sent, remaining, other_base_urls: others.length, removed }), output);
  await output.writer.end();
  if (removed > 0)
    await context.report.note(
      `removed ${removed} incomplete ${pluralize(removed, 'record')} of commands that never started`,
    );
  if (others.length > 0) await context.report.note(otherTargetsText(others));
  // A signal after the last call has nothing left to stop.
  if (remaining > 0) throw unconfirmedFailure(remaining, calls.length, unaccepted, flags, failure);
  if (removalFailure) throw removalFailure;
}

function otherTargetsText(others: readonly SpooledCall[]): string {
  const targets = [...new Set(others.map(({ target }) => target))].sort();
  const more = targets.length > MAX_LISTED_TARGETS ? [`${targets.length - MAX_LISTED_TARGETS} more`] : [];
  const count = `${others.length} ${pluralize(others.length, 'call belongs', 'calls belong')} to other base URLs`;
  const stays = `${pluralize(others.length, 'stays', 'stay')} in the spool`;
  return `${count} and ${stays}: ${[...targets.slice(0, MAX_LISTED_TARGETS), ...more].join(', ')}`;
}

function unconfirmedFailure(
  remaining: number,
  total: number,
  unaccepted: readonly Issue[],
  flags: FlagValues,
  failure: Failure | undefined,
): Failure {
  const { code = 'partial', message, facts = {} } = failure ?? {};
  const subject = `${remaining} of ${total} ${pluralize(total, 'call')} ${pluralize(remaining, 'was', 'were')} not confirmed`;
  const later = `send ${pluralize(remaining, 'it', 'them')} later with: ${flushCommand(flags)}`;
  return new Failure(code, unaccepted.length < remaining && message ? `${subject}: ${message}` : subject, {
    ...facts,
    isBatch: true,
    issues: unaccepted.slice(0, MAX_LISTED_FILES),
    hint:
      unaccepted.length > 0
        ? `if the base URL is right, correct or remove these files; send other calls later with: ${flushCommand(flags)}`
        : `${pluralize(remaining, 'it stays', 'they stay')} in the spool; ${later}`,
  });
}

interface SentCalls {
  readonly sent: number;
  /** The files of calls that the service rejects, or for which it returns other ids: sending them again changes nothing. */
  readonly unaccepted: readonly Issue[];
  readonly failure?: Failure;
  /** The first failure to remove a call that was sent. */
  readonly removalFailure?: Failure | undefined;
}

// The input of the batch is the spool, and each result of a call that the service confirmed deletes the call.
async function sendCalls(
  calls: readonly SpooledCall[],
  { command, flags }: Invocation,
  context: Context,
): Promise<SentCalls> {
  const { runtime, report, stdout } = context;
  let sent = 0;
  const unaccepted: Issue[] = [];
  if (calls.length === 0) return { sent, unaccepted };
  let firstMessage: string | undefined;
  let removalFailure: Failure | undefined;
  const onResults = async (results: string | Uint8Array): Promise<void> => {
    for (const result of results.toString().trimEnd().split('\n')) {
      const entry = parseResultEntry(Buffer.from(result));
      const call = calls[(entry?.line ?? 0) - 1];
      if (!entry || !call) continue;
      const { message, isFinal } = resultProblem(Buffer.from(result), entry);
      if (message === undefined) {
        sent += 1;
        await removeSpooledCall(call.file).catch((error: unknown) => {
          removalFailure ??= toFailure(error);
        });
      } else if (isFinal) unaccepted.push({ path: '', at: call.file, message });
      else firstMessage ??= message;
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
    report: { ...report, note: async () => {}, warn: async () => {}, error: async () => {} },
  };
  try {
    const { runBatch } = await import('../batch/batch.ts');
    await runBatch(callStartOperation, { command, args: [], flags: batchFlags }, batchContext);
    return { sent, unaccepted, removalFailure };
  } catch (error) {
    const { code, message, facts } = toFailure(error);
    return { sent, unaccepted, removalFailure, failure: new Failure(code, firstMessage ?? stopReason(message), facts) };
  }
}

// The reason why a call is not confirmed, if any, and whether it is permanent.
function resultProblem(
  bytes: Buffer,
  { exitCode }: ResultEntry,
): { readonly message?: string; readonly isFinal: boolean } {
  const root = tryParseJson(bytes);
  const error = getMember(root, 'error');
  const [warning] = itemsAt(root, 'warnings');
  if (!error) return warning ? { message: stringOf(warning), isFinal: true } : { isFinal: false };
  const [issue] = itemsAt(error, 'issues');
  const texts = [
    firstStringMember(error, 'message'),
    firstStringMember(issue, 'path'),
    firstStringMember(issue, 'message'),
  ];
  return { message: texts.filter(Boolean).join(': '), isFinal: exitCode === exitCodes.refused.code };
}

// A message of the batch engine is its summary in lines, and why it stopped.
function stopReason(message: string): string {
  const isSummary = (part: string): boolean => /^\d+ lines?: /.test(part);
  const reason = message.split('; ').findLast((part) => !isSummary(part)) ?? 'svc stopped early';
  return reason.replace(' (--max-outage)', '');
}
