import { Failure } from '../../errors.ts';
import { formatSeconds } from '../../output/transfer-text.ts';
import type { Runtime } from '../../runtime.ts';
import type { BatchOptions } from '../batch-options.ts';

export interface AvailabilityHooks {
  /** The batch begins to wait for the service: the text says why, and for how long. */
  readonly onOutage: (text: string) => void;
  /** The service responds again after it was down. */
  readonly onRecovery: () => void;
  /** The service stayed down: the batch stops for the reason, and the rest is unsent. */
  readonly onGiveUp: (reason: string) => void;
}

const MAX_WAIT_JITTER = 1 / 4;

// While the service is down it is probed with one request at a time, at growing intervals.
const MIN_PROBE_INTERVAL_MS = 250;
const MAX_PROBE_INTERVAL_MS = 5000;
// After a refusal, which other lines may end soon, pauses are shorter: where few requests have room, a batch that asks rarely never
// finds the moment in which another one gives way.
const MIN_REFUSAL_PAUSE_MS = 50;
const MAX_REFUSAL_PAUSE_MS = 1000;

// After so many failures of the service in a row no further line is taken, and one line at a time tries.
const MAX_SERVICE_FAILURES = 20;
const MIN_TRIAL_INTERVAL_MS = 1000;
const MAX_TRIAL_INTERVAL_MS = 60_000;
const MAX_TRIALS = 10;
const TRIALS_MS = Array.from({ length: MAX_TRIALS }, (_, failed) => trialWaitMs(failed)).reduce((sum, ms) => sum + ms);

/**
 * Whether the service of a batch can be used (docs/internals/contract.md, batches). While no connection can be made, while it refuses every
 * request, and after 20 failures in a row, one request at a time goes out, after growing waits, and at last the batch gives up.
 */
export function createAvailability(
  { maxOutageMs, outageFlag, isFailFast }: Pick<BatchOptions, 'maxOutageMs' | 'outageFlag' | 'isFailFast'>,
  { elapsed, after }: Pick<Runtime, 'elapsed' | 'after'>,
  random: () => number,
  { onOutage, onRecovery, onGiveUp }: AvailabilityHooks,
) {
  const canWaitForService = maxOutageMs > 0;
  const wait = createWait({ maxOutageMs, outageFlag }, elapsed, random, onGiveUp);
  // Attempts that started before say nothing about a probe.
  let lastFailureAt = Number.NEGATIVE_INFINITY;
  let lastReason = '';
  const outage = createOutage(wait, after, onOutage);
  const refusals = createRefusals(wait);
  const trials = createTrials(wait, canWaitForService && !isFailFast, onOutage);
  const isProbing = (): boolean => outage.isActive() || trials.isActive();
  const onContact = (failure: Failure | undefined, startedAt: number, isFirstOfRound: boolean): void => {
    const wasProbing = isProbing();
    outage.end();
    if (failure && isServiceFailure(failure)) trials.add(failure, startedAt);
    else if (failure?.code !== 'rate_limited') {
      trials.end();
      if (wasProbing) onRecovery();
    }
    if (!failure) refusals.end();
    else if (canWaitForService && isProvenRefusal(failure)) refusals.add(failure, isFirstOfRound);
  };
  return {
    /** The time, by `elapsed`, before which no request may be sent. */
    notBefore: wait.notBefore,
    /** True while at most one request may be in flight, to find out if the service can be used. */
    isProbing,
    /** What the service did last that keeps requests waiting. */
    reason: () => lastReason,
    /** Counts an attempt that ended while so many requests were in flight, its own included; all wait for `waitMs`. */
    onAttemptEnd: (failure: Failure | undefined, startedAt: number, inFlight: number, waitMs: number): void => {
      const isFirstOfRound = startedAt >= lastFailureAt;
      if (failure && isFirstOfRound) lastFailureAt = elapsed();
      if (failure)
        lastReason = failure.code === 'rate_limited' ? 'rate limited' : (failure.facts.summary ?? failure.message);
      if (failure && canWaitForService && isConnectFailure(failure)) outage.add(failure, isFirstOfRound, inFlight);
      else onContact(failure, startedAt, isFirstOfRound);
      wait.waitFor(waitMs);
    },
    /** False for a failure of a service that leaves no hope for retries. */
    canRetry: (failure: Failure): boolean => !isServiceFailure(failure) || trials.canRetry(),
    skippedRetries: trials.skippedRetries,
    /** True for a failure after which a line waits for the service, without using up a retry. */
    canWait: (failure: Failure): boolean =>
      canWaitForService && !wait.hasGivenUp() && (isConnectFailure(failure) || isProvenRefusal(failure)),
    /** The failure of the line: one that waited in vain was not sent. */
    toOutcome: (failure: Failure): Failure =>
      wait.hasGivenUp() && isConnectFailure(failure) ? notSentFailure() : failure,
  };
}

type Wait = ReturnType<typeof createWait>;

function createWait(
  { maxOutageMs, outageFlag }: Pick<BatchOptions, 'maxOutageMs' | 'outageFlag'>,
  elapsed: Runtime['elapsed'],
  random: () => number,
  onGiveUp: AvailabilityHooks['onGiveUp'],
) {
  let notBefore = 0;
  let hasGivenUp = false;
  return {
    ...{ maxOutageMs, maxOutage: `${maxOutageMs / 1000} s${outageFlag && ` (${outageFlag})`}`, elapsed },
    notBefore: () => notBefore,
    /** Longer by chance, so that processes which were refused together do not send together. */
    waitFor: (milliseconds: number): void => {
      const end = elapsed() + milliseconds;
      if (end > notBefore) notBefore = end + milliseconds * MAX_WAIT_JITTER * random();
    },
    hasGivenUp: () => hasGivenUp,
    giveUp: (reason: string): void => {
      if (!hasGivenUp) onGiveUp(reason);
      hasGivenUp = true;
    },
  };
}

// A service to which no connection can be made.
function createOutage(
  { maxOutageMs, maxOutage, elapsed, waitFor, giveUp, hasGivenUp }: Wait,
  after: Runtime['after'],
  onOutage: AvailabilityHooks['onOutage'],
) {
  let last: Failure | undefined;
  let hasConnected = false;
  let failedProbes = 0;
  // One connection that fails while others are in use is a sign of too many requests, two in a row are an outage.
  let isSuspected = false;
  let cancelEnd = (): void => {};
  // The next probe may be later than the end of the time.
  const giveUpAt = (end: number): void => {
    const remainingMs = end - elapsed();
    if (remainingMs > 0) cancelEnd = after(remainingMs, () => giveUpAt(end));
    else if (last)
      giveUp(`could not connect for ${maxOutage} to ${new URL(last.facts.url ?? '').origin}: ${last.facts.reason}`);
  };
  return {
    isActive: () => last !== undefined,
    add: (failure: Failure, isFirstOfRound: boolean, inFlight: number): void => {
      const isFirst = last === undefined;
      const { isPermanent, isTimedOut, status } = failure.facts;
      if (hasConnected && inFlight > 1 && !isPermanent && !isSuspected) {
        isSuspected = true;
        waitFor(MIN_REFUSAL_PAUSE_MS);
        return;
      }
      last = failure;
      // A proxy that responds has no outage.
      if (isPermanent && !isTimedOut && (!hasConnected || status === 407)) {
        cancelEnd();
        giveUp(failure.message);
      } else if (isFirst && !hasGivenUp()) {
        onOutage(`${failure.message}; the batch waits and retries with one line at a time, for up to ${maxOutage}`);
        giveUpAt(elapsed() + maxOutageMs);
      }
      if (isFirstOfRound) failedProbes += 1;
      waitFor(Math.min(MAX_PROBE_INTERVAL_MS, MIN_PROBE_INTERVAL_MS * 2 ** (failedProbes - 1)));
    },
    end: (): void => {
      cancelEnd();
      [hasConnected, isSuspected, last, failedProbes] = [true, false, undefined, 0];
    },
  };
}

// A service that refuses with a proof: its lines wait, until no request got through for `maxOutageMs`.
function createRefusals({ maxOutageMs, maxOutage, elapsed, waitFor, giveUp }: Wait) {
  let since: number | undefined;
  let rounds = 0;
  return {
    add: (failure: Failure, isFirstOfRound: boolean): void => {
      since ??= elapsed();
      if (isFirstOfRound) {
        rounds += 1;
        waitFor(Math.min(MAX_REFUSAL_PAUSE_MS, MIN_REFUSAL_PAUSE_MS * 2 ** (rounds - 1)));
      }
      if (elapsed() - since > maxOutageMs)
        giveUp(`the service refused every request for ${maxOutage}: ${failure.message}`);
    },
    end: (): void => {
      [since, rounds] = [undefined, 0];
    },
  };
}

// A service that responds with failures: after some in a row, one line at a time tries, unless the batch may not wait.
function createTrials({ elapsed, waitFor, giveUp }: Wait, isEnabled: boolean, onOutage: AvailabilityHooks['onOutage']) {
  let failures = 0;
  let failedTrials = 0;
  let nextTrialAt = 0;
  let skippedRetries = 0;
  const isActive = (): boolean => isEnabled && failures >= MAX_SERVICE_FAILURES;
  return {
    isActive,
    add: (failure: Failure, startedAt: number): void => {
      failures += 1;
      // Requests that were in flight when the row was complete are no trials.
      if (!isActive() || startedAt < nextTrialAt) return;
      const what = `the service failed ${failures} requests in a row, the last with: ${failure.message}`;
      if (nextTrialAt > 0) failedTrials += 1;
      else if (!failure.facts.isPermanent)
        onOutage(
          `${what}; the batch waits and tries one line at a time, up to ${MAX_TRIALS} times in ${formatSeconds(TRIALS_MS / 1000)}`,
        );
      const waitMs = trialWaitMs(failedTrials);
      nextTrialAt = elapsed() + waitMs;
      if (failedTrials >= MAX_TRIALS || failure.facts.isPermanent) giveUp(what);
      else waitFor(waitMs);
    },
    end: (): void => {
      [failures, failedTrials, nextTrialAt] = [0, 0, 0];
    },
    canRetry: (): boolean => {
      if (failures < MAX_SERVICE_FAILURES) return true;
      skippedRetries += 1;
      return false;
    },
    skippedRetries: () => skippedRetries,
  };
}

function trialWaitMs(failedTrials: number): number {
  return Math.min(MAX_TRIAL_INTERVAL_MS, MIN_TRIAL_INTERVAL_MS * 2 ** failedTrials);
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
