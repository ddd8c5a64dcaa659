import type { Buffer } from 'node:buffer';
import { expectationFailure } from '../client/expectations/chat-expectations.ts';
import { isIdempotent, retryAdvice } from '../client/idempotency.ts';
import { prepareRequest, requestSecrets } from '../client/prepared-request.ts';
import { createRequestContext, type RequestContext } from '../client/request-context.ts';
import type { RequestObserver } from '../client/request-observer.ts';
import { hasIdOfRequest } from '../client/response-warnings.ts';
import { type AppliedState, Failure, signalOfFailure, toFailure } from '../errors.ts';
import { type JsonNode, rootOf } from '../json/json-node.ts';
import { writeJson } from '../json/write-json.ts';
import { createRedactor } from '../output/redact.ts';
import type { BatchJob } from './batch-job.ts';
import { messageWithIssue } from './batch-statistics.ts';
import { digestInputLine } from './compare-input.ts';
import type { IndexedEntry } from './line-index.ts';
import { canSendLine, classifyLine, type LineState, priorOutcome } from './line-status.ts';
import { prepareLine } from './prepare-line.ts';
import type { PermitHold } from './rate-limiter.ts';
import { formatFailureEntry, formatSuccessEntry, type LineAttempt } from './result-entry.ts';
import type { ResultSlot } from './result-order.ts';
import { type SendLineResult, sendLine } from './send-line.ts';
import type { InputLine } from './split-lines.ts';
import { createStrayDataWatch, strayDataFailureOf } from './stray-data.ts';

/** The result of a line. */
export interface LineResult extends LineState {
  readonly failure: Failure | undefined;
  /** The message of the failure, with its first issue and without secrets. */
  readonly message: string | undefined;
  readonly attempts: number;
  /** Milliseconds from sending to the end of the response. */
  readonly milliseconds: number;
  readonly httpStatus: number | undefined;
  readonly response: JsonNode | undefined;
}

/** A result that replaces the one that was put. */
export interface LineRevision {
  readonly line: number;
  readonly failure: Failure;
  readonly earlier: LineState;
  readonly write: () => Promise<void>;
}

/** Takes the result of a line. */
export interface LineOutput extends ResultSlot {
  readonly revise: (revision: LineRevision) => void;
  /** Called when the outcome of a line that was sent is known, before its result waits for its turn. */
  readonly onOutcome: (outcome: Pick<LineResult, 'failure' | 'status'>) => void;
  /** Ended by `onOutcome`, or with the line. */
  readonly permitHold: PermitHold;
}

/**
 * Sends a line, unless an earlier run has its outcome or it must not be sent twice, and stores the result. Throws the
 * errors of the result store.
 */
export async function runLine(line: InputLine, slot: LineOutput, job: BatchJob): Promise<LineResult> {
  const { resultStore } = job;
  const { runtime } = job.context;
  const digest = digestInputLine(line);
  const { entry: earlierEntry, inFlight } = resultStore.findPrior(line.number, digest);
  if (earlierEntry?.exitCode === 0) return keepEarlierResult(earlierEntry, slot);
  const timestampMs = inFlight?.timestampMs || runtime.now();
  const { draft, customId } = await prepareLine(line, { digest, timestampMs }, job);
  const put = (entry: Uint8Array): Promise<void> => slot.put(resultStore.seal(entry, digest));
  const recordUnsent = async (failure: Failure, id = customId): Promise<LineResult> => {
    const outcome = { line: line.number, id, attempts: 0, milliseconds: 0 };
    await put(formatFailureEntry(outcome, failure, job.context.report.redact));
    const message = formatMessage(failure, job.context.report.redact);
    return { ...classifyLine(failure.exitCode, failure.facts.applied), failure, ...NOT_SENT, message };
  };
  if (draft instanceof Failure) {
    if (earlierEntry && earlierEntry.applied !== 'no') return keepEarlierResult(earlierEntry, slot);
    return recordUnsent(inFlight === undefined ? draft : lostResponseFailure());
  }
  const requestContext = createRequestContext(job.operation, draft, job.target);
  const [requestId] = Object.values(requestContext.ids);
  const id = customId ?? (requestId === undefined ? undefined : writeJson(requestId));
  const resendRules = { canRetryUnknown: job.canRetryUnknown, isSameRun: resultStore.isSameRun };
  if (!canSendLine(priorOutcome(earlierEntry, inFlight), requestContext.effect, resendRules)) {
    return earlierEntry ? keepEarlierResult(earlierEntry, slot) : recordUnsent(lostResponseFailure(requestContext), id);
  }
  let isMarkedInFlight = false;
  let startedAt = 0;
  const markInFlight = async (): Promise<void> => {
    await resultStore.markInFlight(line.number, timestampMs, digest);
    isMarkedInFlight = true;
  };
  const observer = job.observerFor(draft);
  const recordingObserver: RequestObserver = {
    ...observer,
    onSend: async () => {
      await observer?.onSend?.();
      if (!isMarkedInFlight) await markInFlight();
      startedAt = runtime.elapsed();
    },
  };
  // A line that is safe to send twice is recorded ahead, so that the disk works while other lines are in flight.
  if (isIdempotent(requestContext.effect)) await markInFlight();
  const strayDataWatch = createStrayDataWatch();
  const sendResult = await sendLine(
    requestContext,
    line.number,
    recordingObserver,
    job,
    strayDataWatch.onStrayData,
    slot.permitHold,
  ).catch(toFailedResult);
  const { parsedResponse, warnings } = sendResult;
  const endedAt = runtime.elapsed();
  const isComplete = !sendResult.failure && parsedResponse?.doc !== undefined;
  const expectations = (isComplete && job.expectations?.(rootOf(parsedResponse.doc), endedAt - startedAt)) || [];
  const isOwnResponse = hasIdOfRequest(parsedResponse, requestContext);
  const strayDataFailure = strayDataFailureOf(requestContext);
  const doubt = strayDataWatch.hasStrayData() && !isOwnResponse ? strayDataFailure() : undefined;
  const { attempts } = requestContext.progress;
  const sentFacts = { url: requestContext.target.url.href, status: sendResult.status, attempts };
  const failure =
    doubt ??
    (sendResult.failure
      ? withPriorOutcome(sendResult.failure, priorOutcome(earlierEntry, inFlight))
      : (strictWarningFailure(sendResult, job) ?? expectationFailure(expectations, sentFacts)));
  if (!doubt && failure && isInterruption(sendResult.failure ?? failure)) {
    if (isMarkedInFlight && inFlight === undefined) await resultStore.clearInFlight(line.number);
    if (earlierEntry && earlierEntry.applied !== 'no') return keepEarlierResult(earlierEntry, slot);
    await slot.put(undefined);
    return { status: 'unsent', isUnresolved: false, failure, ...NOT_SENT, attempts };
  }
  const outcome = { line: line.number, id, attempts, milliseconds: endedAt - startedAt, expectations, warnings };
  const state = classifyLine(failure?.exitCode ?? 0, failure?.facts.applied);
  slot.onOutcome({ failure, status: state.status });
  if (!failure) await job.responseWarnings.add(line.number, warnings);
  if (doubt) await job.responseWarnings.add(line.number, [doubt.facts.summary ?? doubt.message]);
  const redact = failure ? redactorFor(requestContext, job) : String;
  const entry =
    !failure && parsedResponse
      ? formatSuccessEntry(outcome, sendResult.status, parsedResponse)
      : failure && formatFailureEntry(outcome, failure, redact, parsedResponse);
  const written = entry && put(entry);
  if (state.status !== 'unknown' && !isOwnResponse)
    strayDataWatch.setRevision(
      reviser(outcome, digest, strayDataFailure, parsedResponse?.bytes, written, state, slot, job),
    );
  await written;
  return {
    ...state,
    failure,
    message: failure && formatMessage(failure, redact),
    attempts,
    milliseconds: Math.round(outcome.milliseconds),
    httpStatus: failure ? failure.facts.status : sendResult.status,
    response: parsedResponse?.doc && rootOf(parsedResponse.doc),
  };
}

function formatMessage({ message, facts }: Failure, redact: (text: string) => string): string {
  return redact(messageWithIssue(message, facts.issues?.[0]));
}

// Holds what a later revision needs, and neither the line nor its request.
function reviser(
  outcome: LineAttempt,
  digest: string,
  createFailure: () => Failure,
  bytes: Buffer | undefined,
  written: Promise<void> | undefined,
  earlier: LineState,
  { revise }: LineOutput,
  { resultStore, context: { report } }: BatchJob,
): () => void {
  const { line } = outcome;
  return () => {
    const failure = createFailure();
    const entry = formatFailureEntry(outcome, failure, report.redact, bytes && { bytes });
    const write = async (): Promise<void> => {
      await written;
      await resultStore.reviseEntry(resultStore.seal(entry, digest));
    };
    revise({ line, failure, earlier, write });
  };
}

// With --strict a warning is a failure, although the request was applied.
function strictWarningFailure({ warnings, status }: SendLineResult, { isStrict }: BatchJob): Failure | undefined {
  const [warning] = warnings;
  return isStrict && warning !== undefined ? new Failure('answer', warning, { applied: 'yes', status }) : undefined;
}

const NOT_SENT = { message: undefined, attempts: 0, milliseconds: 0, httpStatus: undefined, response: undefined };

async function keepEarlierResult(earlierEntry: IndexedEntry, slot: ResultSlot): Promise<LineResult> {
  await slot.put(undefined);
  return { ...classifyLine(earlierEntry.exitCode, earlierEntry.applied), failure: undefined, ...NOT_SENT };
}

function lostResponseFailure(requestContext?: RequestContext): Failure {
  const facts = requestContext
    ? { ids: requestContext.ids, hint: `${retryAdvice(requestContext.effect)}; --retry-unknown sends it` }
    : { hint: 'the line is no longer valid; run with --dry-run to see why' };
  return new Failure('unknown', 'an earlier run ended before the response arrived', { applied: 'unknown', ...facts });
}

// An earlier run may have applied the line, whatever this one did.
function withPriorOutcome(failure: Failure, priorApplied: AppliedState): Failure {
  const { code, message, facts } = failure;
  if (priorApplied !== 'unknown' || (facts.applied ?? 'no') !== 'no') return failure;
  return new Failure(code, message, { ...facts, applied: 'unknown' });
}

function toFailedResult(error: unknown): SendLineResult {
  const failure = toFailure(error);
  if (failure.code === 'bug') throw error;
  return { status: failure.facts.status ?? 0, parsedResponse: undefined, failure, warnings: [] };
}

function isInterruption({ code, facts }: Failure): boolean {
  return signalOfFailure(code) !== undefined && facts.applied === 'no';
}

function redactorFor(
  requestContext: RequestContext,
  { destination, flagHeaders, context: { report } }: BatchJob,
): (text: string) => string {
  const { redact } = createRedactor(
    requestSecrets(prepareRequest(requestContext.operation, requestContext.draft, destination, flagHeaders)),
  );
  return (text) => redact(report.redact(text));
}
