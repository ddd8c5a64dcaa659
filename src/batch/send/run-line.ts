import type { Buffer } from 'node:buffer';
import { type ChatExpectations, type ExpectationResult, expectationFailure } from '../../client/chat-expectations.ts';
import type { Connection } from '../../client/connection.ts';
import { createDoubt, requestFailure } from '../../client/exchange-failure.ts';
import type { CreateLineGuard, LineGuard } from '../../client/job-guard.ts';
import { hasIdOfRequest } from '../../client/read-response.ts';
import {
  createRequestContext,
  isIdempotent,
  type PreparedRequest,
  prepareRequest,
  type RequestContext,
  type SendHooks,
} from '../../client/request.ts';
import type { ResponseMemory } from '../../client/response-memory.ts';
import { type SentRequest, send } from '../../client/send.ts';
import type { Context } from '../../context.ts';
import { type AppliedState, Failure, failureCodeOf, signalOfFailure } from '../../errors.ts';
import type { InputLine } from '../../files/split-lines.ts';
import type { ExchangeSignal } from '../../http/message.ts';
import { rootOf } from '../../json/json-node.ts';
import { tryParseJson } from '../../json/parse-json.ts';
import { writeJson } from '../../json/write-json.ts';
import type { BatchRecord, LostLine } from '../../reports/batch/batch-statistics.ts';
import { type LineResult, messageWithIssue, resultLineFacts, UNSENT } from '../../reports/batch/line-facts.ts';
import type { BatchOptions } from '../batch-options.ts';
import { type LineChecks, prepareLine } from '../check/prepare-line.ts';
import type { BatchInput, LineSelection } from '../read/batch-input.ts';
import type { IndexedResult, SentLine } from '../store/line-table.ts';
import { type Checkpoint, classifyLine, formatResult, type LineKey } from '../store/result-line.ts';
import { canSendLine, type PriorLine, type ResultStore } from '../store/result-store.ts';
import { spendingOf, withPrice } from './budget.ts';
import type { StrayDataWatch } from './revisions.ts';
import type { Scheduler, Turn } from './scheduler.ts';

/** What a batch is to send: its input, which lines of it, how they are checked, and who hears of their results. */
export interface BatchPlan {
  readonly input: BatchInput;
  readonly options: BatchOptions & LineSelection;
  readonly checks: LineChecks;
  readonly expectations?: ChatExpectations | undefined;
  /** The guards of the lines of a run; undefined for lines without one. */
  readonly guardsOf?: (run: string) => CreateLineGuard | undefined;
  /** Called with the result of each line, once it is stored. */
  readonly onResult?: ((line: number, result: LineResult) => Promise<void>) | undefined;
  readonly record: BatchRecord;
}

/** A plan with what sends it. */
export interface BatchJob extends BatchPlan {
  readonly store: ResultStore;
  readonly guardFor: CreateLineGuard | undefined;
  readonly connection: Connection;
  readonly scheduler: Scheduler;
  /** Watches a line whose result stray data takes back, which may arrive before or after the result is stored. */
  readonly watch: (strayData: Promise<void>) => StrayDataWatch;
  readonly signal: ExchangeSignal;
  /** Waits for the lines before it that replace the same record. */
  readonly runInSequence: <T>(key: string | undefined, work: () => Promise<T>) => Promise<T>;
  readonly context: Context;
}

/** A line, where its result goes, and when it is sent. */
export interface LineSlot {
  readonly line: InputLine;
  readonly checkpoint: Checkpoint;
  /** Writes the result, or nothing, when it is its turn. */
  readonly put: (result: Uint8Array | undefined) => Promise<void>;
  readonly turn: Turn;
  readonly memory: ResponseMemory;
  readonly progress: LineProgress;
}

/** How far a line came; the steps that send it change this. */
type LineProgress = { -readonly [member in keyof LostLine]: LostLine[member] } & {
  /** The last record of the line says that it is sent. */
  isRecorded: boolean;
};

/** Sends a line, unless an earlier run has its outcome or it must not be sent twice, and stores the result. */
export async function runLine(slot: LineSlot, job: BatchJob): Promise<LineResult> {
  const { store, checks } = job;
  const { line, checkpoint, progress } = slot;
  const digest = checkpoint.input;
  const prior = store.findPrior(line.number, digest);
  const { entry } = prior;
  progress.mayBeApplied = prior.applied !== 'no';
  if (entry?.exitCode === 0 && prior.applied === 'yes') return keepEarlierResult(entry, slot, job);
  const isStopped = job.scheduler.stopSignal.aborted;
  if (isStopped && prior.applied === 'no') return settle(slot, job, UNSENT);
  // What ids and times of the body are made from: the same in all runs that send the line.
  const key: SentLine = { digest, timestampMs: prior.sentAtMs || job.context.runtime.now() };
  const { draft, customId } = await prepareLine(line, key, checks);
  const request = draft instanceof Failure ? draft : prepareRequest(checks.settings, draft);
  const [requestId] = request instanceof Failure ? [] : Object.values(request.ids);
  const lineKey: LineKey = {
    line: line.number,
    checkpoint,
    id: customId ?? (requestId === undefined ? undefined : writeJson(requestId)),
    // A result that was taken back must not count again, in whatever order the results are read.
    revision: entry?.revision ? entry.revision + 1 : 0,
  };
  if (request instanceof Failure) {
    if (prior.applied !== 'no') return keepPriorOutcome(prior, lineKey, slot, job);
    await store.recordChanged(line.number, digest);
    return settle(slot, job, unsentResult(request, job), lineKey);
  }
  const requestContext = createRequestContext(request, job.connection);
  const guard = job.guardFor?.(line.number, request.draft, prior.applied === 'unknown');
  const known = prior.applied === 'unknown' ? await guard?.knownResponse() : undefined;
  if (known) return settle(slot, job, { ...UNSENT, ...classifyLine(0) }, lineKey, known);
  if (isStopped || !canSendLine(prior, request.effect, job.options.canRetryUnknown))
    return keepPriorOutcome(prior, lineKey, slot, job, request);
  const replaced = request.ids[request.operation.replaces ?? ''];
  const sent = await job.runInSequence(replaced, () => sendLine(requestContext, key, guard, prior, slot, job));
  const stored = await storeLine(sent, requestContext, lineKey, prior, slot, job);
  if (stored.status !== 'unsent') return stored;
  return prior.applied === 'no' ? settle(slot, job, stored) : keepPriorOutcome(prior, lineKey, slot, job, request);
}

// Writes the result of a line with a key; without one, an earlier result stays, or there is none. The next request may start
// before the result of this one is written.
async function settle(
  slot: LineSlot,
  job: BatchJob,
  result: LineResult,
  lineKey?: LineKey,
  response?: Buffer,
): Promise<LineResult> {
  const bytes = lineKey && formatResult(lineKey, result, response, job.context.report.redact);
  // The failure of an earlier run does not stop this one.
  const { attempts, status, received, expectations } = result;
  // A response that fails an expectation is complete.
  if (attempts > 0) slot.turn.spend(spendingOf(received), expectations.length > 0 ? 'done' : status);
  job.scheduler.addOutcome({ failure: bytes && result.failure, status });
  slot.turn.release();
  await slot.put(bytes);
  return result;
}

function unsentResult(failure: Failure, { context: { report } }: BatchJob): LineResult {
  const state = classifyLine(failure.exitCode, failure.facts.applied);
  return { ...UNSENT, ...state, failure, message: failureMessage(failure, report.redact) };
}

// What earlier runs know about a line that they may have sent, in place of a result of this run.
async function keepPriorOutcome(
  prior: PriorLine,
  lineKey: LineKey,
  slot: LineSlot,
  job: BatchJob,
  sendable?: PreparedRequest,
): Promise<LineResult> {
  const { entry } = prior;
  const kept =
    entry && entry.applied !== 'no'
      ? await keepEarlierResult(entry, slot, job)
      : await settle(slot, job, unsentResult(lostResponseFailure(sendable), job), lineKey);
  return { ...kept, isIdempotent: sendable !== undefined && canSendLine(prior, sendable.effect, false) };
}

// Leaves the result of an earlier run as it is.
async function keepEarlierResult(entry: IndexedResult, slot: LineSlot, job: BatchJob): Promise<LineResult> {
  const { exitCode, applied } = entry;
  const kept: LineResult = { ...UNSENT, ...classifyLine(exitCode, applied) };
  if (exitCode === 0) return settle(slot, job, kept);
  const facts = resultLineFacts(tryParseJson(await job.store.read(entry)));
  const { message = 'the line failed in an earlier run', httpStatus } = facts;
  const failure = new Failure(failureCodeOf(exitCode) ?? 'failed', message, { applied, status: httpStatus });
  return settle(slot, job, { ...kept, failure, message, httpStatus });
}

function lostResponseFailure(request?: PreparedRequest): Failure {
  const message = 'an earlier run ended before the response arrived';
  const hint = 'the line is no longer valid; run with --dry-run to see why';
  if (!request) return new Failure('unknown', message, { applied: 'unknown', hint });
  const failure = requestFailure('unknown', message, { applied: 'unknown', ids: request.ids }, request);
  return failure.with({ hint: `${failure.facts.hint}; --retry-unknown sends it` });
}

/** What was sent for a line, and what came back. */
interface LineAttempt extends SentRequest {
  readonly watch: StrayDataWatch;
  /** The failure of a response that may be for another request; undefined for one with the id of this request. */
  readonly createDoubt: (() => Failure) | undefined;
  readonly heldBy: string | undefined;
}

// Records a line, sends it, and reads the response.
async function sendLine(
  request: RequestContext,
  key: SentLine,
  guard: LineGuard | undefined,
  prior: PriorLine,
  { line: { number: line }, turn, memory, progress }: LineSlot,
  { store, scheduler, watch, signal, context }: BatchJob,
): Promise<LineAttempt> {
  const { runtime, report } = context;
  let journalError: unknown;
  const record = async (): Promise<void> => {
    if (progress.isRecorded) return;
    await store.recordSending(line, key).catch((error: unknown) => {
      journalError = error;
      throw error;
    });
    progress.isRecorded = true;
  };
  // A line that is safe to send twice is recorded ahead, so that the disk works while other lines are in flight.
  if (isIdempotent(request.effect)) await record();
  const hooks: SendHooks = {
    signal,
    waitSignal: scheduler.stopSignal,
    turn,
    onSend: async () => {
      // First, so that a job that only the job history has is not one of this batch.
      await record();
      await guard?.onSend();
      progress.sentAt = runtime.elapsed();
    },
    // A retry may come long after the record of its line.
    onAttempt: () => {
      store.requireHeld();
      return undefined;
    },
    // So that a kill leaves only the requests in flight unknown.
    onWait: async () => {
      if (!progress.isRecorded || isIdempotent(request.effect) || prior.sentAtMs !== undefined) return;
      await store.recordWithdrawn(line, key.digest);
      progress.isRecorded = false;
    },
    onOutcome: guard?.recordOutcome,
    memory,
    onRetry: (message) => {
      turn.release();
      memory.release();
      return report.detail(`line ${line}: ${message}`);
    },
  };
  const sent = await send(request, hooks, runtime);
  // A line that could not be recorded was not sent, and has no result.
  if (journalError !== undefined) throw journalError;
  if (sent.failure?.code === 'bug') throw sent.failure;
  progress.hasResponse = sent.status !== undefined;
  const doubt = hasIdOfRequest(sent.doc, request) ? undefined : createDoubt(request);
  const heldBy = memory.hasWaited() ? 'memory' : turn.heldBy();
  return { ...sent, createDoubt: doubt, heldBy, watch: watch(sent.strayData) };
}

// Stores the result of a line that was sent. One that a signal stopped before it was applied is not stored.
async function storeLine(
  sent: LineAttempt,
  request: RequestContext,
  lineKey: LineKey,
  prior: PriorLine,
  slot: LineSlot,
  job: BatchJob,
): Promise<LineResult> {
  const { doc, warnings, status, endedAt, watch, heldBy } = sent;
  const { line, progress } = slot;
  const { report, runtime } = job.context;
  const { attempts } = request.progress;
  const milliseconds = endedAt - (progress.sentAt ?? endedAt);
  const isComplete = !sent.failure && doc !== undefined;
  const expectations = (isComplete && job.expectations?.(rootOf(doc), milliseconds, line.expressions)) || [];
  const doubt = watch.hasStrayData() ? sent.createDoubt?.() : undefined;
  const failure = doubt ?? failureOf(sent, expectations, request, prior.applied, job);
  const isInterrupted =
    !doubt && sent.failure && signalOfFailure(sent.failure.code) && sent.failure.facts.applied === 'no';
  const { isUnresolved, status: lineStatus } = classifyLine(failure?.exitCode ?? 0, failure?.facts.applied);
  const isWithdrawn = isInterrupted || (failure && !isUnresolved);
  // Before its result is stored, so that a record after such a result is always of a later attempt.
  if (isWithdrawn && progress.isRecorded && prior.sentAtMs === undefined)
    await job.store.recordWithdrawn(line.number, lineKey.checkpoint.input);
  if (isInterrupted) return { ...UNSENT, attempts };
  const shownWarnings = doubt ? [doubt.facts.summary ?? doubt.message] : failure ? [] : warnings;
  await job.checks.warnings.addResponseWarnings(line.number, shownWarnings);
  // Written out, because a copy with more properties is slow (docs/internals/performance.md).
  const result: LineResult = {
    status: lineStatus,
    isUnresolved,
    failure,
    isIdempotent: isIdempotent(request.effect),
    message: failure && failureMessage(failure, report.redact),
    attempts,
    milliseconds: Math.round(milliseconds),
    httpStatus: failure ? failure.facts.status : status,
    received: withPrice(sent.facts, job.options.prices),
    warnings,
    expectations,
    endedAtMs: runtime.now(),
    heldBy,
  };
  // Without the result, whose response a connection would hold.
  const written = settle(slot, job, result, lineKey, sent.bytes).then(() => {});
  // Stray data may have arrived while a record or a warning was written.
  if (lineStatus !== 'unknown' && sent.createDoubt)
    watch.keep({ lineKey, result, response: sent.bytes, written, createDoubt: sent.createDoubt });
  await written;
  return result;
}

function failureOf(
  { failure, warnings, status }: LineAttempt,
  expectations: readonly ExpectationResult[],
  request: RequestContext,
  priorApplied: AppliedState,
  { checks: { settings } }: BatchJob,
): Failure | undefined {
  if (failure) return withPriorOutcome(failure, priorApplied);
  if (settings.isStrict && warnings[0] !== undefined)
    return requestFailure('invalid_response', warnings[0], { applied: 'yes', status }, request);
  const { attempts } = request.progress;
  if (expectations.length === 0) return undefined;
  return expectationFailure(expectations, { url: request.destination.url.href, status, attempts }, request);
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
