import type { Buffer } from 'node:buffer';
import { expectationFailure } from '../client/expectations/chat-expectations.ts';
import { isIdempotent } from '../client/idempotency.ts';
import { prepareRequest, requestSecrets } from '../client/prepared-request.ts';
import type { RequestContext } from '../client/request-context.ts';
import { hasIdOfRequest } from '../client/response-warnings.ts';
import { type AppliedState, Failure, signalOfFailure, toFailure } from '../errors.ts';
import { rootOf } from '../json/json-node.ts';
import { createRedactor } from '../output/redact.ts';
import type { BatchJob, LineObserver } from './batch-job.ts';
import { failureMessage, type LineOutput, type LineResult, NOT_SENT } from './line-result.ts';
import { classifyLine, type LineState, priorOutcome } from './line-status.ts';
import { formatFailureEntry, formatSuccessEntry, type LineAttempt } from './result-entry.ts';
import type { PriorLine } from './result-store.ts';
import { type SendLineResult, sendLine } from './send-line.ts';
import { createStrayDataWatch, type StrayDataWatch, strayDataFailureOf } from './stray-data.ts';

/** A line that may be sent. */
export interface ReadyLine {
  readonly number: number;
  /** The `custom_id` of the line, or the id in its body, as JSON. */
  readonly id: string | undefined;
  readonly digest: string;
  /** The time of its ids: milliseconds since 1970. */
  readonly timestampMs: number;
  readonly prior: PriorLine;
  /** Stores what earlier runs know about a line that they may have sent, in place of a result of this run. */
  readonly keepPriorOutcome: () => Promise<LineResult>;
  readonly requestContext: RequestContext;
}

/** Sends a line and stores its result. Throws the errors of the result store. */
export async function sendAndRecord(line: ReadyLine, output: LineOutput, job: BatchJob): Promise<LineResult> {
  const { number, id, digest, prior, requestContext } = line;
  const { resultStore, responseWarnings } = job;
  const strayDataWatch = createStrayDataWatch();
  const { sendResult, milliseconds, isMarkedInFlight } = await markAndSend(line, strayDataWatch, output, job);
  const { parsedResponse, warnings } = sendResult;
  const isComplete = !sendResult.failure && parsedResponse?.doc !== undefined;
  const expectations = (isComplete && job.expectations?.(rootOf(parsedResponse.doc), milliseconds)) || [];
  const isOwnResponse = hasIdOfRequest(parsedResponse, requestContext);
  const strayDataFailure = strayDataFailureOf(requestContext);
  const doubt = strayDataWatch.hasStrayData() && !isOwnResponse ? strayDataFailure() : undefined;
  const { attempts } = requestContext.progress;
  const sentFacts = { url: requestContext.target.url.href, status: sendResult.status, attempts };
  const failure =
    doubt ??
    (sendResult.failure
      ? withPriorOutcome(sendResult.failure, priorOutcome(prior))
      : (strictWarningFailure(sendResult, job) ?? expectationFailure(expectations, sentFacts)));
  if (!doubt && failure && isInterruption(sendResult.failure ?? failure)) {
    if (isMarkedInFlight && prior.inFlight === undefined) await resultStore.clearInFlight(number);
    if (priorOutcome(prior) !== 'no') return line.keepPriorOutcome();
    await output.put(undefined);
    return { status: 'unsent', isUnresolved: false, failure, ...NOT_SENT, attempts };
  }
  const attempt = { line: number, id, attempts, milliseconds, expectations, warnings };
  const state = classifyLine(failure?.exitCode ?? 0, failure?.facts.applied);
  // Before its result is stored, so that a mark beside such a result is always of a later attempt.
  if (isMarkedInFlight && failure && !state.isUnresolved) await resultStore.clearInFlight(number);
  output.onOutcome({ failure, status: state.status });
  if (!failure) await responseWarnings.add(number, warnings);
  if (doubt) await responseWarnings.add(number, [doubt.facts.summary ?? doubt.message]);
  const redact = failure ? redactorFor(requestContext, job) : String;
  const entry =
    !failure && parsedResponse
      ? formatSuccessEntry(attempt, sendResult.status, parsedResponse)
      : failure && formatFailureEntry(attempt, failure, redact, parsedResponse);
  const written = entry && output.put(resultStore.seal(entry, digest));
  if (state.status !== 'unknown' && !isOwnResponse) {
    const recorded = { attempt, digest, state, bytes: parsedResponse?.bytes, written };
    strayDataWatch.setRevision(createRevision(recorded, strayDataFailure, output, job));
  }
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
    httpStatus: failure ? failure.facts.status : sendResult.status,
    response: parsedResponse?.doc && rootOf(parsedResponse.doc),
  };
}

interface SentLine {
  readonly sendResult: SendLineResult;
  /** From the first byte that was sent to the end of the response. */
  readonly milliseconds: number;
  readonly isMarkedInFlight: boolean;
}

// The line is in the `.inflight` file before its first byte leaves.
async function markAndSend(
  { number, digest, timestampMs, prior, requestContext }: ReadyLine,
  { onStrayData }: StrayDataWatch,
  { permitHold, progress }: LineOutput,
  job: BatchJob,
): Promise<SentLine> {
  const { elapsed } = job.context.runtime;
  let isMarkedInFlight = false;
  let logError: unknown;
  let startedAt = 0;
  const markInFlight = async (): Promise<void> => {
    try {
      await job.resultStore.markInFlight(number, timestampMs, digest);
    } catch (error) {
      logError = error;
      throw error;
    }
    isMarkedInFlight = true;
  };
  const observer = job.observerFor(requestContext.draft, priorOutcome(prior) === 'unknown');
  const recordingObserver: LineObserver = {
    onOutcome: observer?.onOutcome,
    onSend: async () => {
      // First, so that a job that only the job history has is not one of this batch.
      if (!isMarkedInFlight) await markInFlight();
      await observer?.onSend?.();
      progress.mayBeApplied = true;
      progress.isSent = true;
      startedAt = elapsed();
    },
  };
  // A line that is safe to send twice is recorded ahead, so that the disk works while other lines are in flight.
  if (isIdempotent(requestContext.effect)) await markInFlight();
  const sendResult = await sendLine(requestContext, number, recordingObserver, { onStrayData, permitHold }, job).catch(
    (error: unknown) => {
      // A line that could not be recorded was not sent, and has no result.
      if (logError !== undefined) throw logError;
      return toFailedResult(error);
    },
  );
  progress.hasResponse = sendResult.status !== 0;
  return { sendResult, milliseconds: (sendResult.lastChunkAt ?? elapsed()) - startedAt, isMarkedInFlight };
}

/** A stored result, without the line and its request. */
interface RecordedLine {
  readonly attempt: LineAttempt;
  readonly digest: string;
  readonly state: LineState;
  /** The response. */
  readonly bytes: Buffer | undefined;
  /** The end of writing it. */
  readonly written: Promise<void> | undefined;
}

// Holds no more than a later revision needs: a kept connection has one for each of its lines.
function createRevision(
  { attempt, digest, state, bytes, written }: RecordedLine,
  createFailure: () => Failure,
  { revise }: LineOutput,
  { resultStore, context: { report } }: BatchJob,
): () => void {
  return () => {
    const failure = createFailure();
    const entry = formatFailureEntry(attempt, failure, report.redact, bytes && { bytes });
    const write = async (): Promise<void> => {
      await written;
      await resultStore.reviseEntry(resultStore.seal(entry, digest));
    };
    revise({ line: attempt.line, failure, earlier: state, write });
  };
}

// With --strict a warning is a failure, although the request was applied.
function strictWarningFailure({ warnings, status }: SendLineResult, { isStrict }: BatchJob): Failure | undefined {
  const [warning] = warnings;
  return isStrict && warning !== undefined ? new Failure('answer', warning, { applied: 'yes', status }) : undefined;
}

// An earlier run applied the line, or may have, whatever this one did.
function withPriorOutcome(failure: Failure, priorApplied: AppliedState): Failure {
  const { code, message, facts } = failure;
  const isKnown = priorApplied === 'no' || (priorApplied === 'unknown' && (facts.applied ?? 'no') !== 'no');
  return isKnown ? failure : new Failure(code, message, { ...facts, applied: priorApplied });
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
