import type { BatchFlagOptions } from '../../batch/batch-flags.ts';
import { spanSplitter } from '../../batch/read/span-input.ts';
import { runBatch, sendBodies } from '../../batch/run-batch.ts';
import type { SettingOptions } from '../../client/request-flags.ts';
import { resolveSettings, type Settings } from '../../client/resolve-settings.ts';
import type { Invocation, RunCommand } from '../../command.ts';
import { traceBaseUrl } from '../../config/destination.ts';
import { dataDirectory } from '../../config/environment.ts';
import type { ServiceOptions } from '../../config/settings.ts';
import type { Context } from '../../context.ts';
import { Failure, InterruptedError, type Issue, toFailure } from '../../errors.ts';
import type { OptionsOfList } from '../../flag.ts';
import { callStartOperation } from '../../operations/call-start.ts';
import type { ResultOptions } from '../../output/output-format.ts';
import { pluralize } from '../../output/transfer-text.ts';
import type { LineResult } from '../../reports/batch/line-facts.ts';
import { openResultOutput, printResult, resultOf } from '../../results/print-result.ts';
import {
  flushCommand,
  readSpool,
  removeIncompleteCalls,
  removeSpooledCall,
  type SpooledCall,
  spoolDirectory,
} from '../../trace/spool.ts';
import type { callProjectFlag } from '../definitions/command-flags.ts';

// A flush is the last step of a job: it does not wait for a service that is down as long as a batch does.
const MAX_OUTAGE_MS = 5000;

const MAX_LISTED_FILES = 10;
const MAX_LISTED_URLS = 3;

/** Sends the spooled calls of the current trace base URL as a batch; what is not confirmed stays. Throws its Failure. */
export async function runCallFlush(
  { options }: Invocation<ServiceOptions & ResultOptions>,
  context: Context,
): Promise<void> {
  const { runtime, report } = context;
  const output = await openResultOutput('record', options, context);
  const settings = await resolveSettings(callStartOperation, options, context);
  const baseUrl = traceBaseUrl(settings.destination);
  const directory = spoolDirectory(dataDirectory(runtime));
  const removed = await removeIncompleteCalls(directory, runtime);
  const spooled = await readSpool(directory);
  const calls = spooled.filter((call) => call.baseUrl === baseUrl);
  const others = spooled.filter((call) => call.baseUrl !== baseUrl);
  const progress: FlushProgress = { total: calls.length, sent: 0, unaccepted: [] };
  const end = await sendCalls(calls, progress, settings, context).catch(toFailure);
  const remaining = calls.length - progress.sent;
  await printResult(resultOf({ sent: progress.sent, remaining, other_base_urls: others.length, removed }), output);
  await output.writer.end();
  if (removed > 0)
    await report.note(`removed ${removed} incomplete ${pluralize(removed, 'record')} of commands that never started`);
  if (others.length > 0) await report.note(otherBaseUrlsText(others));
  // A signal after the last call has nothing left to stop.
  if (remaining > 0) throw unconfirmedFailure(progress, end, flushCommand(options));
  if (progress.removalFailure) throw progress.removalFailure;
}

function otherBaseUrlsText(others: readonly SpooledCall[]): string {
  const baseUrls = [...new Set(others.map(({ baseUrl }) => baseUrl))].sort();
  const more = baseUrls.length > MAX_LISTED_URLS ? [`${baseUrls.length - MAX_LISTED_URLS} more`] : [];
  const count = `${others.length} ${pluralize(others.length, 'call belongs', 'calls belong')} to other base URLs`;
  const stays = `${pluralize(others.length, 'stays', 'stay')} in the spool`;
  return `${count} and ${stays}: ${[...baseUrls.slice(0, MAX_LISTED_URLS), ...more].join(', ')}`;
}

function unconfirmedFailure({ total, sent, unaccepted }: FlushProgress, end: Failure, command: string): Failure {
  const { code, facts, message } = end;
  const remaining = total - sent;
  const subject = `${remaining} of ${total} ${pluralize(total, 'call')} ${pluralize(remaining, 'was', 'were')} not confirmed`;
  const later = `send ${pluralize(remaining, 'it', 'them')} later with: ${command}`;
  return new Failure(code, unaccepted.length < remaining && message ? `${subject}: ${message}` : subject, {
    ...facts,
    isBatch: true,
    issues: unaccepted.slice(0, MAX_LISTED_FILES),
    hint:
      unaccepted.length > 0
        ? `if the base URL is right, correct or remove these files; send other calls later with: ${command}`
        : `${pluralize(remaining, 'it stays', 'they stay')} in the spool; ${later}`,
  });
}

interface FlushProgress {
  readonly total: number;
  sent: number;
  /** The files of calls that the service rejects, or for which it returns other ids: sending them again changes nothing. */
  readonly unaccepted: Issue[];
  removalFailure?: Failure;
}

// A batch whose input is the spool: each call that the service confirms is deleted. Returns the failure of those that are not.
async function sendCalls(calls: readonly SpooledCall[], progress: FlushProgress, settings: Settings, context: Context) {
  if (calls.length === 0) return new Failure('partly_failed', '');
  let firstMessage: string | undefined;
  const onResult = async (line: number, { failure, message, warnings: [warning], status }: LineResult) => {
    const call = calls[line - 1];
    if (!call || status === 'unsent') return;
    const problem = message ?? warning;
    if (problem === undefined) {
      progress.sent += 1;
      await removeSpooledCall(call.file).catch((error: unknown) => {
        progress.removalFailure ??= toFailure(error);
      });
    } else if (!failure || failure.code === 'refused')
      progress.unaccepted.push({ path: '', at: { label: call.file }, message: problem });
    else firstMessage ??= message;
  };
  const source = { label: 'the spool', bodies: calls.map(({ body }) => body) };
  const { tally, stopReason, abortReason } = await sendBodies(source, settings, MAX_OUTAGE_MS, onResult, context);
  const code = abortReason instanceof InterruptedError ? abortReason.code : 'partly_failed';
  const applied = tally.byStatus.unknown > 0 ? 'unknown' : 'no';
  return new Failure(code, firstMessage ?? stopReason ?? '', { applied });
}

type ImportOptions = ServiceOptions &
  Pick<SettingOptions, 'output' | 'dryRun' | 'curl' | 'strict' | 'noCheck'> &
  OptionsOfList<typeof callProjectFlag> &
  Omit<BatchFlagOptions, 'batch' | 'rows' | 'delimiter' | 'idColumn' | 'prompt'>;

/** Records the spans of a file of OTLP/JSON as calls: a batch whose lines are the spans. Throws what runBatch throws. */
export const runCallImport: RunCommand<ImportOptions> = async ({ args: [path = '-'], options }, context) => {
  const invocation = { args: [], options: { ...options, batch: path } };
  // A batch that is resumed reads its input twice.
  let isReported = false;
  const split = spanSplitter(path === '-' ? 'stdin' : path, async (text) => {
    if (!isReported) await context.report.note(text);
    isReported = true;
  });
  await runBatch(callStartOperation, invocation, context, split);
};
