import { Buffer } from 'node:buffer';
import type { Draft } from '../body/draft.ts';
import { type ChatExpectations, expectationFailure } from '../client/expectations/chat-expectations.ts';
import type { RunReport } from '../client/expectations/run-report.ts';
import { invalidResponseFailure } from '../client/read-response.ts';
import {
  createDoubt,
  createRequestContext,
  isIdempotent,
  type PreparedRequest,
  prepareRequest,
  type RequestContext,
  type RequestObserver,
  requestSecrets,
  retryAdvice,
  type SendHooks,
} from '../client/request.ts';
import { type Connection, type Outcome, send } from '../client/send.ts';
import { hasIdOfRequest } from '../client/send-once.ts';
import type { Settings } from '../client/settings.ts';
import { formatRetryMessage } from '../client/with-retries.ts';
import type { Context } from '../context.ts';
import { type AppliedState, Failure, failureCodeOf, signalOfFailure, toFailure } from '../errors.ts';
import type { InputLine } from '../files/split-lines.ts';
import { observeChunks } from '../http/body-chunks.ts';
import type { ExchangeSignal } from '../http/message.ts';
import { createDeadline } from '../http/time-limits.ts';
import { rootOf } from '../json/json-node.ts';
import { parseJson, tryParseJson } from '../json/parse-json.ts';
import { writeJson } from '../json/write-json.ts';
import { createRedactor } from '../output/reporter.ts';
import { mergeStream } from '../results/chunk-merger.ts';
import type { ParsedResponse } from '../results/show-response.ts';
import type { ResponseWarnings } from './batch-summary.ts';
import { classifyLine, type LineResult, type LineRevision, type LineState, NOT_SENT } from './line-result.ts';
import { type LineChecks, prepareLine } from './prepare-line.ts';
import {
  digestInputLine,
  formatFailure,
  formatSuccess,
  type LineAttempt,
  messageWithIssue,
  resultLineFacts,
} from './result-line.ts';
import { canSendLine, type PriorEntry, type PriorLine, priorOutcome, type ResultStore } from './result-store.ts';
import type { Scheduler, Turn } from './scheduler.ts';

/** Records the request of a line outside of the batch too, and prevents a duplicate there. */
export interface LineGuard extends Required<Pick<RequestObserver, 'onSend' | 'onOutcome'>> {
  readonly onSend: () => Promise<void>;
  /** The response to the line in an earlier run, if that is known outside of the batch. */
  readonly knownResponse: () => Promise<Buffer | undefined>;
}

export interface BatchJob extends LineChecks {
  readonly settings: Settings;
  readonly connection: Connection;
  readonly scheduler: Scheduler;
  /** Ends requests in flight. */
  readonly signal: ExchangeSignal;
  readonly resultStore: ResultStore;
  /** Called with the result of each line, once it is stored. */
  readonly onResult?: (line: number, result: LineResult) => Promise<void>;
  /** Creates the guard of a line, which an earlier run may have applied; undefined if lines need none. */
  readonly guardFor?: ((line: number, draft: Draft, mayBeApplied: boolean) => LineGuard) | undefined;
  readonly canRetryUnknown: boolean;
  readonly expectations?: ChatExpectations | undefined;
  readonly runReport?: RunReport | undefined;
  readonly responseWarnings: ResponseWarnings;
  readonly context: Context;
}

export interface LineOutput {
  /** Writes the result, or nothing, when it is its turn. After a failed write nothing more is written. */
  readonly put: (result: Uint8Array | undefined) => Promise<void>;
  /** How far the line got, in case its result cannot be stored: this run or an earlier one may have applied it, this run sent it. */
  readonly progress: { mayBeApplied: boolean; isSent: boolean; hasResponse: boolean };
  readonly revise: (revision: LineRevision) => void;
  /** Called when the outcome of a line is known, before its result waits to be written. */
  readonly onOutcome: (outcome: Pick<LineResult, 'failure' | 'status'>) => void;
  /** Released by `onOutcome`, or with the line. */
  readonly turn: Turn;
}

/**
 * Sends a line, unless an earlier run has its outcome or it must not be sent twice, and stores the result. Throws the
 * errors of the result store.
 */
export async function runLine(line: InputLine, output: LineOutput, job: BatchJob): Promise<LineResult> {
  const { resultStore, context } = job;
  const { redact } = context.report;
  const digest = digestInputLine(line);
  const prior = resultStore.findPrior(line.number, digest);
  const priorApplied = priorOutcome(prior);
  output.progress.mayBeApplied = priorApplied !== 'no';
  if (prior.entry?.exitCode === 0 && priorApplied === 'yes') return keepEarlierResult(prior.entry, output);
  const isStopped = job.scheduler.stopSignal.aborted;
  if (isStopped && priorApplied === 'no') {
    await output.put(undefined);
    return { status: 'unsent', isUnresolved: false, failure: undefined, ...NOT_SENT };
  }
  const timestampMs = prior.sentAtMs || context.runtime.now();
  const { draft, customId } = await prepareLine(line, { digest, timestampMs }, job);
  const checkpoint = { input: digest, ...resultStore.batch };
  // A result that was taken back must not count again, in whatever order the results are read.
  const revision = prior.entry?.revision ? prior.entry.revision + 1 : 0;
  const attempt: LineAttempt = { line: line.number, id: customId, attempts: 0, milliseconds: 0, checkpoint, revision };
  const recordUnsent = async (failure: Failure, id = customId): Promise<LineResult> => {
    const state = classifyLine(failure.exitCode, failure.facts.applied);
    output.onOutcome({ failure, status: state.status });
    await output.put(formatFailure({ ...attempt, id }, failure, redact, undefined));
    return { ...state, failure, ...NOT_SENT, message: failureMessage(failure, redact) };
  };
  const keptEntry = prior.entry?.applied === 'no' ? undefined : prior.entry;
  if (draft instanceof Failure) {
    if (keptEntry) return keepEarlierResult(keptEntry, output);
    if (prior.sentAtMs !== undefined) return recordUnsent(lostResponseFailure());
    await resultStore.recordChanged(line.number, digest);
    return recordUnsent(draft);
  }
  const request = prepareRequest(job.settings, draft);
  const [requestId] = Object.values(request.ids);
  const id = customId ?? (requestId === undefined ? undefined : writeJson(requestId));
  const { effect } = request;
  const guard = job.guardFor?.(line.number, draft, priorApplied === 'unknown');
  const known = priorApplied === 'unknown' ? await guard?.knownResponse() : undefined;
  if (known) {
    output.onOutcome({ failure: undefined, status: 'done' });
    await output.put(formatSuccess({ ...attempt, id }, null, known));
    return { ...classifyLine(0), failure: undefined, ...NOT_SENT };
  }
  const keepPriorOutcome = async (): Promise<LineResult> => {
    const kept = await (keptEntry
      ? keepEarlierResult(keptEntry, output)
      : recordUnsent(lostResponseFailure(request), id));
    return { ...kept, isIdempotent: canSendLine(prior, effect, false) };
  };
  if (isStopped || !canSendLine(prior, effect, job.canRetryUnknown)) return keepPriorOutcome();
  const requestContext = createRequestContext(request, job.connection);
  const ready = { attempt: { ...attempt, id }, timestampMs, prior, guard, request, requestContext, keepPriorOutcome };
  return sendAndRecord(ready, output, job);
}

// Leaves the result of an earlier run as it is; its failure does not stop this one.
async function keepEarlierResult(earlier: PriorEntry, { put, onOutcome }: LineOutput): Promise<LineResult> {
  await put(undefined);
  const { exitCode, applied } = earlier;
  const state = classifyLine(exitCode, applied);
  onOutcome({ failure: undefined, status: state.status });
  if (exitCode === 0) return { ...state, failure: undefined, ...NOT_SENT };
  const { message = 'the line failed in an earlier run', httpStatus } = resultLineFacts(
    tryParseJson(await earlier.read()),
  );
  const failure = new Failure(failureCodeOf(exitCode) ?? 'failed', message, { applied, status: httpStatus });
  return { ...state, failure, ...NOT_SENT, message, httpStatus };
}

function lostResponseFailure(request?: PreparedRequest): Failure {
  const facts = request
    ? { ids: request.ids, hint: `${retryAdvice(request)}; --retry-unknown sends it` }
    : { hint: 'the line is no longer valid; run with --dry-run to see why' };
  return new Failure('unknown', 'an earlier run ended before the response arrived', { applied: 'unknown', ...facts });
}

interface ReadyLine {
  readonly attempt: LineAttempt;
  /** The time of its ids: milliseconds since 1970. */
  readonly timestampMs: number;
  readonly prior: PriorLine;
  readonly guard: LineGuard | undefined;
  readonly request: PreparedRequest;
  readonly requestContext: RequestContext;
  /** Stores what earlier runs know about a line that they may have sent, in place of a result of this run. */
  readonly keepPriorOutcome: () => Promise<LineResult>;
}

async function sendAndRecord(ready: ReadyLine, output: LineOutput, job: BatchJob): Promise<LineResult> {
  const { attempt, prior, request, requestContext } = ready;
  const { resultStore, responseWarnings } = job;
  const { line, checkpoint } = attempt;
  const strayData = createStrayDataWatch();
  const { sent, milliseconds, isRecorded } = await recordAndSend(ready, strayData.onData, output, job);
  const { response, warnings } = sent;
  const isComplete = !sent.failure && response?.doc !== undefined;
  const expectations = (isComplete && job.expectations?.(rootOf(response.doc), milliseconds)) || [];
  const isOwnResponse = hasIdOfRequest(response, requestContext);
  const doubtOf = createDoubt(requestContext);
  const doubt = strayData.hasArrived() && !isOwnResponse ? doubtOf() : undefined;
  const { attempts } = requestContext.progress;
  const sentFacts = { url: requestContext.destination.url.href, status: sent.status, attempts };
  const failure =
    doubt ??
    (sent.failure
      ? withPriorOutcome(sent.failure, priorOutcome(prior))
      : (job.settings.isStrict && strictWarningFailure(sent)) || expectationFailure(expectations, sentFacts));
  const withdraw = async (): Promise<void> => {
    if (isRecorded && prior.sentAtMs === undefined) await resultStore.recordWithdrawn(line, checkpoint.input);
  };
  const { code, facts } = sent.failure ?? {};
  if (!doubt && failure && code && signalOfFailure(code) && facts?.applied === 'no') {
    await withdraw();
    if (priorOutcome(prior) !== 'no') return ready.keepPriorOutcome();
    await output.put(undefined);
    return { status: 'unsent', isUnresolved: false, failure, ...NOT_SENT, attempts };
  }
  const sentAttempt = {
    ...attempt,
    attempts,
    milliseconds,
    expectations,
    warnings,
    endedAtMs: job.context.runtime.now(),
  };
  const state = classifyLine(failure?.exitCode ?? 0, failure?.facts.applied);
  // Before its result is stored, so that a record after such a result is always of a later attempt.
  if (failure && !state.isUnresolved) await withdraw();
  output.onOutcome({ failure, status: state.status });
  if (!failure) await responseWarnings.add(line, warnings);
  if (doubt) await responseWarnings.add(line, [doubt.facts.summary ?? doubt.message]);
  const redact = failure ? redactorFor(request, job) : String;
  const result = failure
    ? formatFailure(sentAttempt, failure, redact, response)
    : response && formatSuccess(sentAttempt, sent.status, response.bytes);
  const written = output.put(result);
  if (state.status !== 'unknown' && !isOwnResponse)
    strayData.onLaterData(
      createRevision({ attempt: sentAttempt, state, bytes: response?.bytes, written }, doubtOf, output, job),
    );
  await written;
  // Written out, because a copy with more members is slow (docs/performance.md).
  return {
    status: state.status,
    isUnresolved: state.isUnresolved,
    failure,
    isIdempotent: isIdempotent(requestContext.effect),
    message: failure && failureMessage(failure, redact),
    attempts,
    milliseconds: Math.round(milliseconds),
    httpStatus: failure ? failure.facts.status : sent.status,
    response: response?.doc && rootOf(response.doc),
    warnings,
  };
}

interface SentLineResult {
  readonly status: number;
  readonly response: Pick<ParsedResponse, 'bytes' | 'doc'> | undefined;
  readonly failure: Failure | undefined;
  /** Signs that the response is for another request. */
  readonly warnings: readonly string[];
  /** When the last chunk of a complete stream came, by the runtime's `elapsed`: the end of a stream may come late. */
  readonly lastChunkAt?: number | undefined;
}

// The line is in the journal before its first byte leaves.
async function recordAndSend(
  { attempt: { line, checkpoint }, timestampMs, guard, request, requestContext }: ReadyLine,
  onStrayData: () => void,
  { turn, progress }: LineOutput,
  job: BatchJob,
): Promise<{ readonly sent: SentLineResult; readonly milliseconds: number; readonly isRecorded: boolean }> {
  const { runtime, report } = job.context;
  let isRecorded = false;
  let journalError: unknown;
  let startedAt = 0;
  const record = async (): Promise<void> => {
    if (isRecorded) return;
    const sent = { digest: checkpoint.input, timestampMs };
    await job.resultStore.recordSending(line, sent).catch((error: unknown) => {
      journalError = error;
      throw error;
    });
    isRecorded = true;
  };
  // A line that is safe to send twice is recorded ahead, so that the disk works while other lines are in flight.
  if (isIdempotent(requestContext.effect)) await record();
  const observer: RequestObserver = {
    onSend: async () => {
      // First, so that a job that only the job history has is not one of this batch.
      await record();
      await guard?.onSend();
      progress.mayBeApplied = true;
      progress.isSent = true;
      startedAt = runtime.elapsed();
    },
    onOutcome: guard?.onOutcome,
    onLargeResponse: job.scheduler.takeLargeTurn,
    onRetry: (failure, retryNumber, delayMs) => {
      turn.release();
      const message = formatRetryMessage(failure, retryNumber, job.connection.maxRetries, delayMs);
      return report.detail(`line ${line}: ${message}`);
    },
    onTrace: report.isVerbose ? report.detail : undefined,
  };
  const hooks: SendHooks = {
    signal: job.signal,
    waitSignal: job.scheduler.stopSignal,
    // The time of a line starts when it may be sent, not while it waits for others.
    startDeadline: () => createDeadline(job.settings.timeoutMs, runtime),
    observer,
    turn,
    onStrayData,
  };
  const sent = await send(request, requestContext, job.connection, hooks, runtime)
    .then((outcome) => readOutcome(outcome, requestContext, job))
    .catch((error: unknown): SentLineResult => {
      // A line that could not be recorded was not sent, and has no result.
      if (journalError !== undefined) throw journalError;
      const failure = turn.toOutcome(toFailure(error));
      if (failure.code === 'bug') throw error;
      return { status: failure.facts.status ?? 0, response: undefined, failure, warnings: [] };
    });
  progress.hasResponse = sent.status !== 0;
  return { sent, milliseconds: (sent.lastChunkAt ?? runtime.elapsed()) - startedAt, isRecorded };
}

async function readOutcome(
  { response: { status }, response, parsedResponse, chunks, warnings }: Outcome,
  requestContext: RequestContext,
  { scheduler, context: { runtime } }: BatchJob,
): Promise<SentLineResult> {
  if (parsedResponse) return { status, response: parsedResponse, failure: parsedResponse.failure, warnings };
  let lastChunkAt: number | undefined;
  const timedChunks = observeChunks(chunks, () => {
    lastChunkAt = runtime.elapsed();
  });
  const createFailure = (message: string): Failure => invalidResponseFailure(message, response, requestContext);
  const { reply } = requestContext.operation;
  const { json, failure } = await mergeStream(timedChunks, reply, createFailure, scheduler.takeLargeTurn);
  const bytes = Buffer.from(json);
  if (failure) lastChunkAt = undefined;
  return { status, response: { bytes, doc: parseJson(bytes) }, failure, warnings, lastChunkAt };
}

/** A stored result, without the line and its request. */
interface StoredResult {
  readonly attempt: LineAttempt;
  readonly state: LineState;
  readonly bytes: Buffer | undefined;
  readonly written: Promise<void>;
}

// Holds no more than a later revision needs: a kept connection has one for each of its lines.
function createRevision(
  { attempt, state, bytes, written }: StoredResult,
  doubtOf: () => Failure,
  { revise }: LineOutput,
  { resultStore, context: { report } }: BatchJob,
): () => void {
  return () => {
    const failure = doubtOf();
    const revised = { ...attempt, revision: attempt.revision + 1 };
    const result = formatFailure(revised, failure, report.redact, bytes && { bytes });
    const write = async (): Promise<void> => {
      await written;
      await resultStore.revise(result);
    };
    revise({ line: attempt.line, failure, earlier: state, write });
  };
}

// With its first issue, and without secrets.
function failureMessage({ message, facts }: Failure, redact: (text: string) => string): string {
  return redact(messageWithIssue(message, facts.issues?.[0]));
}

// With --strict a warning is a failure, although the request was applied.
function strictWarningFailure({ warnings: [warning], status }: SentLineResult): Failure | undefined {
  return warning === undefined ? undefined : new Failure('invalid_response', warning, { applied: 'yes', status });
}

// An earlier run applied the line, or may have, whatever this one did.
function withPriorOutcome(failure: Failure, priorApplied: AppliedState): Failure {
  const { applied = 'no' } = failure.facts;
  const isKnown = priorApplied === 'no' || (priorApplied === 'unknown' && applied !== 'no');
  return isKnown ? failure : failure.with({ applied: priorApplied });
}

function redactorFor(request: PreparedRequest, { context: { report } }: BatchJob): (text: string) => string {
  const { redact } = createRedactor(requestSecrets(request));
  return (text) => redact(report.redact(text));
}

// Watches for data that no request asked for, on the connections that a line used. The watch outlives the line.
function createStrayDataWatch() {
  let hasArrived = false;
  let revise: (() => void) | undefined;
  return {
    onData: () => {
      hasArrived = true;
      revise?.();
      revise = undefined;
    },
    hasArrived: () => hasArrived,
    // `action` is called once, for data that arrives from now on.
    onLaterData: (action: () => void): void => {
      revise = action;
    },
  };
}
