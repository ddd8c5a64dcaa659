import type { Buffer } from 'node:buffer';
import { type ChatExpectations, expectationFailure } from '../../client/chat-expectations.ts';
import type { Connection } from '../../client/connection.ts';
import { createDoubt, requestFailure } from '../../client/exchange-failure.ts';
import { mergeChunks, type ReadOutcome, readOutcome } from '../../client/read-outcome.ts';
import { hasIdOfRequest } from '../../client/read-response.ts';
import {
  createRequestContext,
  isIdempotent,
  type PreparedRequest,
  prepareRequest,
  type RequestContext,
  type SendHooks,
} from '../../client/request.ts';
import { send } from '../../client/send.ts';
import type { Context } from '../../context.ts';
import { type AppliedState, Failure, failureCodeOf, signalOfFailure, toFailure } from '../../errors.ts';
import type { InputLine } from '../../files/split-lines.ts';
import type { ExchangeSignal } from '../../http/message.ts';
import { rootOf } from '../../json/json-node.ts';
import { tryParseJson } from '../../json/parse-json.ts';
import { writeJson } from '../../json/write-json.ts';
import {
  classifyLine,
  type LineResult,
  type LineState,
  messageWithIssue,
  resultLineFacts,
  UNSENT,
} from '../../reports/batch/line-facts.ts';
import type { RunReport } from '../../reports/run-report.ts';
import { type LineChecks, prepareLine } from '../check/prepare-line.ts';
import type { IndexedResult } from '../store/line-table.ts';
import { formatResult, type LineAttempt } from '../store/result-line.ts';
import { canSendLine, type PriorLine, type ResultStore } from '../store/result-store.ts';
import type { CreateLineGuard, LineGuard } from './line-guard.ts';
import type { Scheduler, Turn } from './scheduler.ts';

export interface BatchJob extends LineChecks {
  readonly connection: Connection;
  readonly scheduler: Scheduler;
  readonly signal: ExchangeSignal;
  readonly resultStore: ResultStore;
  /** Called with the result of each line, once it is stored. */
  readonly onResult?: ((line: number, result: LineResult) => Promise<void>) | undefined;
  readonly guardFor?: CreateLineGuard | undefined;
  readonly canRetryUnknown: boolean;
  /** Takes back the result of a line, if it is stored: the response may be for another request. */
  readonly revise: (run: LineRun) => void;
  readonly expectations?: ChatExpectations | undefined;
  readonly runReport?: RunReport | undefined;
  readonly context: Context;
}

/** A line from its input to its result. A kept connection holds those of all its lines, so they hold no body. */
export interface LineRun extends LineAttempt {
  /** Writes the result, or nothing, when it is its turn. */
  readonly put: (result: Uint8Array | undefined) => Promise<void>;
  readonly turn: Turn;
  /** What earlier runs did; until that is known, they may have applied the line. */
  prior: PriorLine;
  /** The time that ids and times of the body are made from: milliseconds since 1970. */
  timestampMs: number;
  isRecorded: boolean;
  sentAt?: number;
  hasResponse: boolean;
  /** Data that no request asked for arrived on a connection that the line used. */
  hasStrayData: boolean;
  /** A result that such data takes back. */
  stored?:
    | {
        readonly state: LineState;
        readonly response: Buffer | undefined;
        readonly written: Promise<void>;
        readonly createDoubt: () => Failure;
      }
    | undefined;
}

/** Sends a line, unless an earlier run has its outcome or it must not be sent twice, and stores the result. */
export async function runLine(line: InputLine, run: LineRun, job: BatchJob): Promise<LineResult> {
  const { resultStore } = job;
  const { input } = run.checkpoint;
  const prior = resultStore.findPrior(run.line, input);
  const { entry } = prior;
  run.prior = prior;
  if (entry?.exitCode === 0 && prior.applied === 'yes') return keepEarlierResult(entry, run, job);
  const isStopped = job.scheduler.stopSignal.aborted;
  if (isStopped && prior.applied === 'no') return settle(run, job, UNSENT);
  run.timestampMs = prior.sentAtMs || job.context.runtime.now();
  const { draft, customId } = await prepareLine(line, { digest: input, timestampMs: run.timestampMs }, job);
  const request = draft instanceof Failure ? draft : prepareRequest(job.settings, draft);
  const [requestId] = request instanceof Failure ? [] : Object.values(request.ids);
  run.id = customId ?? (requestId === undefined ? undefined : writeJson(requestId));
  // A result that was taken back must not count again, in whatever order the results are read.
  run.revision = entry?.revision ? entry.revision + 1 : 0;
  if (request instanceof Failure) {
    if (prior.applied !== 'no') return keepPriorOutcome(run, job);
    await resultStore.recordChanged(run.line, input);
    return storeUnsent(request, run, job);
  }
  const guard = job.guardFor?.(run.line, request.draft, prior.applied === 'unknown');
  const known = prior.applied === 'unknown' ? await guard?.knownResponse() : undefined;
  if (known) return settle(run, job, { ...UNSENT, ...classifyLine(0) }, formatResult(run, null, known));
  if (isStopped || !canSendLine(prior, request.effect, job.canRetryUnknown)) return keepPriorOutcome(run, job, request);
  const sent = await sendAndStore(createRequestContext(request, job.connection), guard, run, job);
  if (sent.status !== 'unsent') return sent;
  return prior.applied === 'no' ? settle(run, job, sent) : keepPriorOutcome(run, job, request);
}

// The next request may start before the result of this one is written.
async function settle(run: LineRun, job: BatchJob, result: LineResult, bytes?: Buffer): Promise<LineResult> {
  // The failure of an earlier run does not stop this one.
  job.scheduler.addOutcome({ failure: bytes && result.failure, status: result.status });
  run.turn.release();
  await run.put(bytes);
  return result;
}

function storeUnsent(failure: Failure, run: LineRun, job: BatchJob): Promise<LineResult> {
  const { redact } = job.context.report;
  const state = classifyLine(failure.exitCode, failure.facts.applied);
  const result = { ...UNSENT, ...state, failure, message: failureMessage(failure, redact) };
  return settle(run, job, result, formatResult(run, null, undefined, failure, redact));
}

// What earlier runs know about a line that they may have sent, in place of a result of this run.
async function keepPriorOutcome(run: LineRun, job: BatchJob, sendable?: PreparedRequest): Promise<LineResult> {
  const { entry } = run.prior;
  const kept =
    entry && entry.applied !== 'no'
      ? await keepEarlierResult(entry, run, job)
      : await storeUnsent(lostResponseFailure(sendable), run, job);
  return { ...kept, isIdempotent: sendable !== undefined && canSendLine(run.prior, sendable.effect, false) };
}

// Leaves the result of an earlier run as it is.
async function keepEarlierResult(entry: IndexedResult, run: LineRun, job: BatchJob): Promise<LineResult> {
  const { exitCode, applied } = entry;
  const kept: LineResult = { ...UNSENT, ...classifyLine(exitCode, applied) };
  if (exitCode === 0) return settle(run, job, kept);
  const facts = resultLineFacts(tryParseJson(await job.resultStore.read(entry)));
  const { message = 'the line failed in an earlier run', httpStatus } = facts;
  const failure = new Failure(failureCodeOf(exitCode) ?? 'failed', message, { applied, status: httpStatus });
  return settle(run, job, { ...kept, failure, message, httpStatus });
}

function lostResponseFailure(request?: PreparedRequest): Failure {
  const message = 'an earlier run ended before the response arrived';
  const hint = 'the line is no longer valid; run with --dry-run to see why';
  if (!request) return new Failure('unknown', message, { applied: 'unknown', hint });
  const failure = requestFailure('unknown', message, { applied: 'unknown', ids: request.ids }, request);
  return failure.with({ hint: `${failure.facts.hint}; --retry-unknown sends it` });
}

// A line that a signal stopped before it was applied is not stored.
async function sendAndStore(request: RequestContext, guard: LineGuard | undefined, run: LineRun, job: BatchJob) {
  const { resultStore, settings } = job;
  const { line, prior } = run;
  const sent = await recordAndSend(request, guard, run, job);
  const { doc, warnings, status, endedAt } = sent;
  const { now } = job.context.runtime;
  const milliseconds = endedAt - (run.sentAt ?? endedAt);
  const isComplete = !sent.failure && doc !== undefined;
  run.expectations = (isComplete && job.expectations?.(rootOf(doc), milliseconds)) || [];
  run.warnings = warnings;
  run.facts = sent.facts;
  const isOwnResponse = hasIdOfRequest(doc, request);
  const doubtOf = createDoubt(request);
  const doubt = run.hasStrayData && !isOwnResponse ? doubtOf() : undefined;
  const { attempts } = request.progress;
  const failure =
    doubt ??
    (sent.failure
      ? withPriorOutcome(sent.failure, prior.applied)
      : settings.isStrict && warnings[0] !== undefined
        ? requestFailure('invalid_response', warnings[0], { applied: 'yes', status }, request)
        : expectationFailure(run.expectations, { url: request.destination.url.href, status, attempts }, request));
  const isInterrupted =
    !doubt && sent.failure && signalOfFailure(sent.failure.code) && sent.failure.facts.applied === 'no';
  const state = classifyLine(failure?.exitCode ?? 0, failure?.facts.applied);
  const isWithdrawn = isInterrupted || (failure && !state.isUnresolved);
  // Before its result is stored, so that a record after such a result is always of a later attempt.
  if (isWithdrawn && run.isRecorded && prior.sentAtMs === undefined)
    await resultStore.recordWithdrawn(line, run.checkpoint.input);
  if (isInterrupted) return { ...UNSENT, attempts };
  if (!failure) await job.warnings.addResponseWarnings(line, warnings);
  if (doubt) await job.warnings.addResponseWarnings(line, [doubt.facts.summary ?? doubt.message]);
  const { redact } = job.context.report;
  run.attempts = attempts;
  run.milliseconds = milliseconds;
  run.endedAtMs = now();
  const bytes = formatResult(run, status, sent.bytes, failure, redact);
  // Written out, because a copy with more properties is slow (docs/performance.md).
  const result: LineResult = {
    status: state.status,
    isUnresolved: state.isUnresolved,
    failure,
    isIdempotent: isIdempotent(request.effect),
    message: failure && failureMessage(failure, redact),
    attempts,
    milliseconds: Math.round(milliseconds),
    httpStatus: failure ? failure.facts.status : status,
    response: doc && rootOf(doc),
    warnings,
  };
  // Without the result, whose response a connection would hold.
  const written = settle(run, job, result, bytes).then(() => {});
  if (state.status !== 'unknown' && !isOwnResponse) {
    run.stored = { state, response: sent.bytes, written, createDoubt: doubtOf };
    // Such data may have arrived while a record or a warning was written.
    if (run.hasStrayData) job.revise(run);
  }
  await written;
  return result;
}

type SentLineResult = Omit<ReadOutcome, 'bytes' | 'hasResult' | 'isPage' | 'firstOutputAt'> & {
  readonly bytes: Buffer | undefined;
};

async function recordAndSend(request: RequestContext, guard: LineGuard | undefined, run: LineRun, job: BatchJob) {
  const { runtime, report } = job.context;
  const { turn } = run;
  let journalError: unknown;
  const record = async (): Promise<void> => {
    if (run.isRecorded) return;
    const sent = { digest: run.checkpoint.input, timestampMs: run.timestampMs };
    await job.resultStore.recordSending(run.line, sent).catch((error: unknown) => {
      journalError = error;
      throw error;
    });
    run.isRecorded = true;
  };
  // A line that is safe to send twice is recorded ahead, so that the disk works while other lines are in flight.
  if (isIdempotent(request.effect)) await record();
  const hooks: SendHooks = {
    signal: job.signal,
    waitSignal: job.scheduler.stopSignal,
    turn,
    onStrayData: watchStrayData(run, job),
    onSend: async () => {
      // First, so that a job that only the job history has is not one of this batch.
      await record();
      await guard?.onSend();
      run.sentAt = runtime.elapsed();
    },
    // So that a kill leaves only the requests in flight unknown.
    onWait: async () => {
      if (!run.isRecorded || isIdempotent(request.effect) || run.prior.sentAtMs !== undefined) return;
      await job.resultStore.recordWithdrawn(run.line, run.checkpoint.input);
      run.isRecorded = false;
    },
    onOutcome: guard?.onOutcome,
    onLargeResponse: job.scheduler.takeLargeTurn,
    onRetry: (message) => {
      turn.release();
      return report.detail(`line ${run.line}: ${message}`);
    },
  };
  const sent = await send(request, hooks, runtime)
    .then((outcome) => readOutcome(outcome, request, runtime, mergeChunks(request, job.scheduler.takeLargeTurn)))
    .catch((error: unknown): SentLineResult => {
      // A line that could not be recorded was not sent, and has no result.
      if (journalError !== undefined) throw journalError;
      const failure = turn.toOutcome(toFailure(error));
      if (failure.code === 'bug') throw error;
      const { status = 0, received: facts = {} } = failure.facts;
      return { status, bytes: undefined, doc: undefined, failure, warnings: [], facts, endedAt: runtime.elapsed() };
    });
  run.hasResponse = sent.status !== 0;
  return sent;
}

// A function of its own, because a connection holds what it refers to.
function watchStrayData(run: LineRun, { revise }: BatchJob): () => void {
  return () => {
    run.hasStrayData = true;
    revise(run);
  };
}

function failureMessage({ message, facts }: Failure, redact: (text: string) => string): string {
  return redact(messageWithIssue(message, facts.issues?.[0]));
}

// An earlier run applied the line, or may have, whatever this one did.
function withPriorOutcome(failure: Failure, priorApplied: AppliedState): Failure {
  const { applied = 'no' } = failure.facts;
  const isKnown = priorApplied === 'no' || (priorApplied === 'unknown' && applied !== 'no');
  return isKnown ? failure : failure.with({ applied: priorApplied });
}
