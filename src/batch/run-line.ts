import { retryAdvice } from '../client/idempotency.ts';
import { createRequestContext, type RequestContext } from '../client/request-context.ts';
import { Failure } from '../errors.ts';
import { writeJson } from '../json/write-json.ts';
import type { BatchJob } from './batch-job.ts';
import { digestInputLine } from './compare-input.ts';
import { failureMessage, keepEarlierResult, type LineOutput, type LineResult, NOT_SENT } from './line-result.ts';
import { canSendLine, classifyLine, priorOutcome } from './line-status.ts';
import { prepareLine } from './prepare-line.ts';
import { formatFailureEntry } from './result-entry.ts';
import { sendAndRecord } from './send-and-record.ts';
import type { InputLine } from './split-lines.ts';

/**
 * Sends a line, unless an earlier run has its outcome or it must not be sent twice, and stores the result. Throws the
 * errors of the result store.
 */
export async function runLine(line: InputLine, output: LineOutput, job: BatchJob): Promise<LineResult> {
  const { resultStore, context } = job;
  const digest = digestInputLine(line);
  const prior = resultStore.findPrior(line.number, digest);
  output.progress.mayBeApplied = priorOutcome(prior) !== 'no';
  if (prior.entry?.exitCode === 0) return keepEarlierResult(prior.entry, output);
  const isStopped = job.stopSignal.signal.aborted;
  if (isStopped && priorOutcome(prior) === 'no') {
    await output.put(undefined);
    return { status: 'unsent', isUnresolved: false, failure: undefined, ...NOT_SENT };
  }
  const timestampMs = prior.inFlight?.timestampMs || context.runtime.now();
  const { draft, customId } = await prepareLine(line, { digest, timestampMs }, job);
  const recordUnsent = async (failure: Failure, id = customId): Promise<LineResult> => {
    const { redact } = context.report;
    const entry = formatFailureEntry({ line: line.number, id, attempts: 0, milliseconds: 0 }, failure, redact);
    const state = classifyLine(failure.exitCode, failure.facts.applied);
    output.onOutcome({ failure, status: state.status });
    await output.put(resultStore.seal(entry, digest));
    return { ...state, failure, ...NOT_SENT, message: failureMessage(failure, redact) };
  };
  if (draft instanceof Failure) {
    if (prior.entry && prior.entry.applied !== 'no') return keepEarlierResult(prior.entry, output);
    return recordUnsent(prior.inFlight === undefined ? draft : lostResponseFailure());
  }
  const requestContext = createRequestContext(job.operation, draft, job.target);
  const [requestId] = Object.values(requestContext.ids);
  const id = customId ?? (requestId === undefined ? undefined : writeJson(requestId));
  const { effect } = requestContext;
  const keepPriorOutcome = async (): Promise<LineResult> => {
    const kept = await (prior.entry && prior.entry.applied !== 'no'
      ? keepEarlierResult(prior.entry, output)
      : recordUnsent(lostResponseFailure(requestContext), id));
    return { ...kept, isIdempotent: canSendLine(prior, effect, false) };
  };
  if (isStopped || !canSendLine(prior, effect, job.canRetryUnknown)) return keepPriorOutcome();
  return sendAndRecord(
    { number: line.number, id, digest, timestampMs, prior, keepPriorOutcome, requestContext },
    output,
    job,
  );
}

function lostResponseFailure(requestContext?: RequestContext): Failure {
  const facts = requestContext
    ? { ids: requestContext.ids, hint: `${retryAdvice(requestContext.effect)}; --retry-unknown sends it` }
    : { hint: 'the line is no longer valid; run with --dry-run to see why' };
  return new Failure('unknown', 'an earlier run ended before the response arrived', { applied: 'unknown', ...facts });
}
