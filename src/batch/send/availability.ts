import { Failure } from '../../errors.ts';
import type { Runtime } from '../../runtime.ts';
import type { BatchOptions } from '../batch-options.ts';

export interface AvailabilityHooks {
  /** The first failure of an outage; `limit` says how long the batch waits. */
  readonly onOutage: (failure: Failure, limit: string) => void;
  /** The service responds again after it was down. */
  readonly onRecovery: () => void;
  /** The service stayed down: the batch stops for the reason, and the rest is unsent. */
  readonly onGiveUp: (reason: string) => void;
}

// While the service is down it is probed with one request at a time, at growing intervals.
const MIN_PROBE_INTERVAL_MS = 250;
const MAX_PROBE_INTERVAL_MS = 5000;
// After a refusal, which other lines may end soon, the first pause is shorter.
const MIN_REFUSAL_PAUSE_MS = 50;

// After so many failures of the service in a row no further line is taken, and one line at a time tries.
const MAX_SERVICE_FAILURES = 20;
const MIN_TRIAL_INTERVAL_MS = 1000;
const MAX_TRIAL_INTERVAL_MS = 60_000;
const MAX_TRIALS = 10;

/**
 * Whether the service of a batch can be used (docs/internals/contract.md, batches). While no connection can be made, while it refuses every
 * request, and after 20 failures in a row, one request at a time goes out, after growing waits, and at last the batch gives up.
 */
export function createAvailability(
  { maxOutageMs, outageFlag, isFailFast }: Pick<BatchOptions, 'maxOutageMs' | 'outageFlag' | 'isFailFast'>,
  { elapsed, after }: Pick<Runtime, 'elapsed' | 'after'>,
  { onOutage, onRecovery, onGiveUp }: AvailabilityHooks,
) {
  const canWaitForService = maxOutageMs > 0;
  const maxOutage = `${maxOutageMs / 1000} s${outageFlag && ` (${outageFlag})`}`;
  let notBefore = 0;
  let outage: Failure | undefined;
  let hasConnected = false;
  let hasGivenUp = false;
  let failedProbes = 0;
  let refusedRounds = 0;
  let refusedSince: number | undefined;
  let serviceFailures = 0;
  let failedTrials = 0;
  let nextTrialAt = 0;
  let skippedRetries = 0;
  // Attempts that started before say nothing about a probe.
  let lastFailureAt = Number.NEGATIVE_INFINITY;
  let lastReason = '';
  let cancelOutage = (): void => {};

  const giveUp = (reason: string): void => {
    if (hasGivenUp) return;
    cancelOutage();
    hasGivenUp = true;
    onGiveUp(reason);
  };
  const waitFor = (milliseconds: number): void => {
    notBefore = Math.max(notBefore, elapsed() + milliseconds);
  };
  // The next probe may be later than the end of the time.
  const giveUpAt = (end: number): void => {
    const remainingMs = end - elapsed();
    if (remainingMs > 0) cancelOutage = after(remainingMs, () => giveUpAt(end));
    else if (outage) {
      const { url = '', reason } = outage.facts;
      giveUp(`could not connect for ${maxOutage} to ${new URL(url).origin}: ${reason}`);
    }
  };
  const onFailedConnect = (failure: Failure, isFirstOfRound: boolean): void => {
    const isFirst = outage === undefined;
    outage = failure;
    const { isPermanent, isTimedOut, status } = failure.facts;
    // A proxy that responds has no outage.
    if (isPermanent && !isTimedOut && (!hasConnected || status === 407)) giveUp(failure.message);
    else if (isFirst && !hasGivenUp) {
      onOutage(failure, maxOutage);
      giveUpAt(elapsed() + maxOutageMs);
    }
    if (isFirstOfRound) failedProbes += 1;
    waitFor(Math.min(MAX_PROBE_INTERVAL_MS, MIN_PROBE_INTERVAL_MS * 2 ** (failedProbes - 1)));
  };
  // Lines that are refused with a proof wait, until no request got through for `maxOutageMs`.
  const onRefusal = (failure: Failure, isFirstOfRound: boolean): void => {
    refusedSince ??= elapsed();
    if (isFirstOfRound) {
      refusedRounds += 1;
      waitFor(Math.min(MAX_PROBE_INTERVAL_MS, MIN_REFUSAL_PAUSE_MS * 2 ** (refusedRounds - 1)));
    }
    if (canWaitForService && elapsed() - refusedSince > maxOutageMs)
      giveUp(`the service refused every request for ${maxOutage}: ${failure.message}`);
  };
  const isTrying = (): boolean => canWaitForService && !isFailFast && serviceFailures >= MAX_SERVICE_FAILURES;
  const onServiceFailure = (failure: Failure, startedAt: number): void => {
    serviceFailures += 1;
    // Requests that were in flight when the row was complete are no trials.
    if (!isTrying() || startedAt < nextTrialAt) return;
    if (nextTrialAt > 0) failedTrials += 1;
    const waitMs = Math.min(MAX_TRIAL_INTERVAL_MS, MIN_TRIAL_INTERVAL_MS * 2 ** failedTrials);
    nextTrialAt = elapsed() + waitMs;
    if (failedTrials >= MAX_TRIALS)
      giveUp(`the service failed ${serviceFailures} requests in a row, the last with: ${failure.message}`);
    else waitFor(waitMs);
  };
  const onUp = (): void => {
    const wasDown = outage !== undefined || isTrying();
    serviceFailures = 0;
    failedTrials = 0;
    nextTrialAt = 0;
    if (wasDown) onRecovery();
  };

  return {
    /** The time, by `elapsed`, before which no request may be sent. */
    notBefore: () => notBefore,
    /** True while at most one request may be in flight, to find out if the service can be used. */
    isProbing: () => outage !== undefined || isTrying(),
    /** What the service did last that keeps requests waiting. */
    reason: () => lastReason,
    onAttemptEnd: (failure: Failure | undefined, startedAt: number): void => {
      const isFirstOfRound = startedAt >= lastFailureAt;
      if (failure && isFirstOfRound) lastFailureAt = elapsed();
      if (failure)
        lastReason = failure.code === 'rate_limited' ? 'rate limited' : (failure.facts.summary ?? failure.message);
      if (failure && canWaitForService && isConnectFailure(failure)) {
        onFailedConnect(failure, isFirstOfRound);
        return;
      }
      if (failure && isServiceFailure(failure)) onServiceFailure(failure, startedAt);
      else if (failure?.code !== 'rate_limited') onUp();
      hasConnected = true;
      outage = undefined;
      cancelOutage();
      failedProbes = 0;
      if (failure && isProvenRefusal(failure)) onRefusal(failure, isFirstOfRound);
      else if (!failure) [refusedSince, refusedRounds] = [undefined, 0];
      waitFor(failure?.facts.retryAfterMs ?? 0);
    },
    /** False for a failure of a service that leaves no hope for retries. */
    canRetry: (failure: Failure): boolean => {
      if (serviceFailures < MAX_SERVICE_FAILURES || !isServiceFailure(failure)) return true;
      skippedRetries += 1;
      return false;
    },
    /** True for a failure after which a line waits for the service, without using up a retry. */
    canWait: (failure: Failure): boolean =>
      canWaitForService && !hasGivenUp && (isConnectFailure(failure) || isProvenRefusal(failure)),
    /** The failure of the line: one that waited in vain was not sent. */
    toOutcome: (failure: Failure): Failure => (hasGivenUp && isConnectFailure(failure) ? notSentFailure() : failure),
    skippedRetries: () => skippedRetries,
  };
}

function isConnectFailure({ code, facts }: Failure): boolean {
  return code === 'unreachable' && facts.phase === 'nothing';
}

function isProvenRefusal({ resend, facts }: Failure): boolean {
  return facts.isProvenRefusal === true && resend.isRetryable;
}

// Not a rate limit, which has a remedy of its own.
function isServiceFailure({ code }: Failure): boolean {
  return code === 'failed' || code === 'unknown' || code === 'unreachable' || code === 'credentials';
}

export function notSentFailure(): Failure {
  return new Failure('interrupted', 'not sent', { applied: 'no', isPermanent: true });
}
