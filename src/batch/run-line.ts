import { Buffer } from 'node:buffer';
import type { Draft } from '../body/draft.ts';
import { type ChatExpectations, expectationFailure } from '../client/expectations/chat-expectations.ts';
import type { RunReport } from '../client/expectations/run-report.ts';
import { createDoubt, invalidResponseFailure, retryAdvice } from '../client/failure.ts';
import {
  type Connection,
  createRequestContext,
  isIdempotent,
  type PreparedRequest,
  prepareRequest,
  type RequestContext,
  requestSecrets,
  type SendHooks,
} from '../client/request.ts';
import { type Outcome, send } from '../client/send.ts';
import { hasIdOfRequest } from '../client/send-once.ts';
import type { Context } from '../context.ts';
import { type AppliedState, Failure, failureCodeOf, signalOfFailure, toFailure } from '../errors.ts';
import type { InputLine } from '../files/split-lines.ts';
import { observeChunks } from '../http/body-chunks.ts';
import type { ExchangeSignal } from '../http/message.ts';
import { createDeadline } from '../http/time-limits.ts';
import { rootOf } from '../json/json-node.ts';
import { parseJson, tryParseJson } from '../json/parse-json.ts';
import { writeJson } from '../json/write-json.ts';
import { createRedactor } from '../output/redaction.ts';
import { mergeStream } from '../results/chunk-merger.ts';
import type { ParsedResponse } from '../results/show-response.ts';
import { classifyLine, type LineResult, type LineRevision, type LineState, NOT_SENT } from './line-result.ts';
import type { IndexedResult } from './line-table.ts';
import { type LineChecks, prepareLine } from './prepare-line.ts';
import {
  digestInputLine,
  formatFailure,
  formatSuccess,
  type LineAttempt,
  messageWithIssue,
  resultLineFacts,
} from './result-line.ts';
import { canSendLine, type PriorLine, type ResultStore } from './result-store.ts';
import type { Scheduler, Turn } from './scheduler.ts';

/** Records the request of a line outside of the batch too, and prevents a duplicate there. */
export interface LineGuard extends Required<Pick<SendHooks, 'onSend' | 'onOutcome'>> {
  readonly onSend: () => Promise<void>;
  /** The response to the line in an earlier run, if that is known outside of the batch. */
  readonly knownResponse: () => Promise<Buffer | undefined>;
}

export interface BatchJob extends LineChecks {
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
  readonly context: Context;
}

export interface LineOutput {
  /** Writes the result, or nothing, when it is its turn. After a failed write nothing more is written. */
  readonly put: (result: Uint8Array | undefined) => Promise<void>;
  /** How far the line got: this run or an earlier one may have applied it; `sentAt` by the runtime's `elapsed`. */
  readonly progress: { mayBeApplied: boolean; isRecorded: boolean; hasResponse: boolean; sentAt?: number };
  readonly revise: (revision: LineRevision) => void;
  /** Called once, when the outcome of a line is known, before its result waits to be written; releases the turn. */
  readonly onOutcome: (outcome: Pick<LineResult, 'failure' | 'status'>) => void;
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
  const { entry } = prior;
  output.progress.mayBeApplied = prior.applied !== 'no';
  if (entry?.exitCode === 0 && prior.applied === 'yes') return keepEarlierResult(entry, output, resultStore);
  const isStopped = job.scheduler.stopSignal.aborted;
  if (isStopped && prior.applied === 'no') return settle(output, UNSENT);
  const timestampMs = prior.sentAtMs || context.runtime.now();
  const { draft, customId } = await prepareLine(line, { digest, timestampMs }, job);
  const request = draft instanceof Failure ? draft : prepareRequest(job.settings, draft);
  const [requestId] = request instanceof Failure ? [] : Object.values(request.ids);
  const attempt: LineAttempt = {
    line: line.number,
    id: customId ?? (requestId === undefined ? undefined : writeJson(requestId)),
    attempts: 0,
    milliseconds: 0,
    checkpoint: { input: digest, ...resultStore.batch },
    // A result that was taken back must not count again, in whatever order the results are read.
    revision: entry?.revision ? entry.revision + 1 : 0,
  };
  const recordUnsent = (failure: Failure): Promise<LineResult> => {
    const state = classifyLine(failure.exitCode, failure.facts.applied);
    const result = { ...UNSENT, ...state, failure, message: failureMessage(failure, redact) };
    return settle(output, result, formatFailure(attempt, failure, redact, undefined));
  };
  // What earlier runs know about a line that they may have sent, in place of a result of this run.
  const keepPriorOutcome = async (sendable?: PreparedRequest): Promise<LineResult> => {
    const kept =
      entry && entry.applied !== 'no'
        ? await keepEarlierResult(entry, output, resultStore)
        : await recordUnsent(lostResponseFailure(sendable));
    return { ...kept, isIdempotent: sendable !== undefined && canSendLine(prior, sendable.effect, false) };
  };
  if (request instanceof Failure) {
    if (prior.applied !== 'no') return keepPriorOutcome();
    await resultStore.recordChanged(line.number, digest);
    return recordUnsent(request);
  }
  const guard = job.guardFor?.(line.number, request.draft, prior.applied === 'unknown');
  const known = prior.applied === 'unknown' ? await guard?.knownResponse() : undefined;
  if (known) return settle(output, { ...UNSENT, ...classifyLine(0) }, formatSuccess(attempt, null, known));
  if (isStopped || !canSendLine(prior, request.effect, job.canRetryUnknown)) return keepPriorOutcome(request);
  const requestContext = createRequestContext(request, job.connection);
  const sent = await sendAndRecord({ attempt, timestampMs, prior, guard, requestContext }, output, job);
  if (sent.status !== 'unsent') return sent;
  return prior.applied === 'no' ? settle(output, sent) : keepPriorOutcome(request);
}

const UNSENT: LineResult = { status: 'unsent', isUnresolved: false, failure: undefined, ...NOT_SENT };

// The next request may start before the result of this one is written.
async function settle(output: LineOutput, result: LineResult, bytes?: Buffer, outcome = result): Promise<LineResult> {
  output.onOutcome(outcome);
  await output.put(bytes);
  return result;
}

// Leaves the result of an earlier run as it is; its failure does not stop this one.
async function keepEarlierResult(entry: IndexedResult, output: LineOutput, store: ResultStore): Promise<LineResult> {
  const { exitCode, applied } = entry;
  const kept: LineResult = { ...UNSENT, ...classifyLine(exitCode, applied) };
  if (exitCode === 0) return settle(output, kept);
  const facts = resultLineFacts(tryParseJson(await store.read(entry)));
  const { message = 'the line failed in an earlier run', httpStatus } = facts;
  const failure = new Failure(failureCodeOf(exitCode) ?? 'failed', message, { applied, status: httpStatus });
  return settle(output, { ...kept, failure, message, httpStatus }, undefined, kept);
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
  readonly requestContext: RequestContext;
}

// A line that a signal stopped before it was applied is not stored.
async function sendAndRecord(ready: ReadyLine, output: LineOutput, job: BatchJob): Promise<LineResult> {
  const { attempt, prior, requestContext } = ready;
  const { resultStore, settings } = job;
  const { line, checkpoint } = attempt;
  const strayData = createStrayDataWatch();
  const sent = await recordAndSend(ready, strayData.onData, output, job);
  const now = job.context.runtime.elapsed();
  const milliseconds = (sent.lastChunkAt ?? now) - (output.progress.sentAt ?? now);
  const { response, warnings, status } = sent;
  const isComplete = !sent.failure && response?.doc !== undefined;
  const expectations = (isComplete && job.expectations?.(rootOf(response.doc), milliseconds)) || [];
  const isOwnResponse = hasIdOfRequest(response, requestContext);
  const doubtOf = createDoubt(requestContext);
  const doubt = strayData.hasArrived && !isOwnResponse ? doubtOf() : undefined;
  const { attempts } = requestContext.progress;
  const sentFacts = { url: requestContext.destination.url.href, status, attempts };
  const failure =
    doubt ??
    (sent.failure
      ? withPriorOutcome(sent.failure, prior.applied)
      : settings.isStrict && warnings[0] !== undefined
        ? new Failure('invalid_response', warnings[0], { applied: 'yes', status })
        : expectationFailure(expectations, sentFacts));
  const withdraw = async (): Promise<void> => {
    if (output.progress.isRecorded && prior.sentAtMs === undefined)
      await resultStore.recordWithdrawn(line, checkpoint.input);
  };
  if (!doubt && sent.failure && signalOfFailure(sent.failure.code) && sent.failure.facts.applied === 'no') {
    await withdraw();
    return { ...UNSENT, attempts };
  }
  const state = classifyLine(failure?.exitCode ?? 0, failure?.facts.applied);
  // Before its result is stored, so that a record after such a result is always of a later attempt.
  if (failure && !state.isUnresolved) await withdraw();
  output.onOutcome({ failure, status: state.status });
  if (!failure) await job.warnings.addResponseWarnings(line, warnings);
  if (doubt) await job.warnings.addResponseWarnings(line, [doubt.facts.summary ?? doubt.message]);
  const redact = failure ? redactorFor(requestContext.request, job) : String;
  const endedAtMs = job.context.runtime.now();
  const sentAttempt = { ...attempt, attempts, milliseconds, endedAtMs, expectations, warnings };
  const written = output.put(
    failure
      ? formatFailure(sentAttempt, failure, redact, response)
      : response && formatSuccess(sentAttempt, status, response.bytes),
  );
  if (state.status !== 'unknown' && !isOwnResponse)
    strayData.onLaterData = createRevision(sentAttempt, state, response?.bytes, written, doubtOf, output, job);
  await written;
  // Written out, because a copy with more properties is slow (docs/performance.md).
  return {
    status: state.status,
    isUnresolved: state.isUnresolved,
    failure,
    isIdempotent: isIdempotent(requestContext.effect),
    message: failure && failureMessage(failure, redact),
    attempts,
    milliseconds: Math.round(milliseconds),
    httpStatus: failure ? failure.facts.status : status,
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
  { attempt: { line, checkpoint }, timestampMs, guard, requestContext }: ReadyLine,
  onStrayData: () => void,
  { turn, progress }: LineOutput,
  job: BatchJob,
): Promise<SentLineResult> {
  const { runtime, report } = job.context;
  let journalError: unknown;
  const record = async (): Promise<void> => {
    if (progress.isRecorded) return;
    const sent = { digest: checkpoint.input, timestampMs };
    await job.resultStore.recordSending(line, sent).catch((error: unknown) => {
      journalError = error;
      throw error;
    });
    progress.isRecorded = true;
  };
  // A line that is safe to send twice is recorded ahead, so that the disk works while other lines are in flight.
  if (isIdempotent(requestContext.effect)) await record();
  const hooks: SendHooks = {
    signal: job.signal,
    waitSignal: job.scheduler.stopSignal,
    // The time of a line starts when it may be sent, not while it waits for others.
    startDeadline: () => createDeadline(job.settings.timeoutMs, runtime),
    turn,
    onStrayData,
    onSend: async () => {
      // First, so that a job that only the job history has is not one of this batch.
      await record();
      await guard?.onSend();
      progress.mayBeApplied = true;
      progress.sentAt = runtime.elapsed();
    },
    onOutcome: guard?.onOutcome,
    onLargeResponse: job.scheduler.takeLargeTurn,
    onRetry: (message) => {
      turn.release();
      return report.detail(`line ${line}: ${message}`);
    },
  };
  const sent = await send(requestContext, hooks, runtime)
    .then((outcome) => readOutcome(outcome, requestContext, job))
    .catch((error: unknown): SentLineResult => {
      // A line that could not be recorded was not sent, and has no result.
      if (journalError !== undefined) throw journalError;
      const failure = turn.toOutcome(toFailure(error));
      if (failure.code === 'bug') throw error;
      return { status: failure.facts.status ?? 0, response: undefined, failure, warnings: [] };
    });
  progress.hasResponse = sent.status !== 0;
  return sent;
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

// Holds no more than a later revision needs: a kept connection has one for each of its lines.
function createRevision(
  attempt: LineAttempt,
  earlier: LineState,
  bytes: Buffer | undefined,
  written: Promise<void>,
  doubtOf: () => Failure,
  { revise }: LineOutput,
  { resultStore, context: { report } }: BatchJob,
): () => void {
  return () => {
    const failure = doubtOf();
    const revised = { ...attempt, revision: attempt.revision + 1 };
    const result = formatFailure(revised, failure, report.redact, bytes && { bytes });
    revise({ line: attempt.line, failure, earlier, write: () => written.then(() => resultStore.revise(result)) });
  };
}

// With its first issue, and without secrets.
function failureMessage({ message, facts }: Failure, redact: (text: string) => string): string {
  return redact(messageWithIssue(message, facts.issues?.[0]));
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
  const watch = {
    hasArrived: false,
    /** Called once, for data that arrives from now on. */
    onLaterData: (): void => {},
    onData: (): void => {
      watch.hasArrived = true;
      watch.onLaterData();
      watch.onLaterData = () => {};
    },
  };
  return watch;
}
