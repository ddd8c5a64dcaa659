import type { Failure } from '../errors.ts';
import type { Runtime } from '../runtime.ts';

/** Watches whether the service can be connected to at all. */
export interface OutageMonitor {
  /** False if lines fail at once while the service is down. */
  readonly isEnabled: boolean;
  /** True for a line that waits for the service; false for a failure of its own, and once the outage is too long. */
  readonly canWait: (failure: Failure) => boolean;
  /** Begins an outage, or ends the waiting: no connection could be made. */
  readonly onFailedConnect: (failure: Failure) => void;
  /** Ends an outage: a connection was made. */
  readonly onConnected: () => void;
  /** The reason why the batch gave up waiting. */
  readonly stopReason: () => string | undefined;
}

/**
 * Watches for outages of up to `maxOutageMs`; 0 waits for none. `onStart` is called at the beginning of each outage with
 * the failure that showed it, `onGiveUp` once the outage is too long. A permanent cause, such as a host name that does not
 * exist, is too long at once, unless a connection was made before.
 */
export function createOutageMonitor(
  maxOutageMs: number,
  { elapsed, after }: Pick<Runtime, 'elapsed' | 'after'>,
  { onStart, onGiveUp }: { readonly onStart: (failure: Failure) => void; readonly onGiveUp: () => void },
): OutageMonitor {
  let lastFailure: Failure | undefined;
  let cancelTimer = (): void => {};
  let reason: string | undefined;
  let hasConnected = false;
  const giveUp = (why: string): void => {
    cancelTimer();
    reason = why;
    onGiveUp();
  };
  // The next probe may be later than the end of the time.
  const giveUpAt = (end: number): void => {
    const remainingMs = end - elapsed();
    if (remainingMs > 0) cancelTimer = after(remainingMs, () => giveUpAt(end));
    else giveUp(withDuration(lastFailure?.message ?? '', maxOutageMs / 1000));
  };
  return {
    isEnabled: maxOutageMs > 0,
    canWait: (failure) => maxOutageMs > 0 && reason === undefined && isConnectFailure(failure),
    onFailedConnect: (failure) => {
      if (reason !== undefined) return;
      const { isPermanent, isTimedOut } = failure.facts;
      const isFirst = lastFailure === undefined;
      lastFailure = failure;
      if (isPermanent && !isTimedOut && !hasConnected) giveUp(failure.message);
      else if (isFirst) {
        onStart(failure);
        giveUpAt(elapsed() + maxOutageMs);
      }
    },
    onConnected: () => {
      hasConnected = true;
      lastFailure = undefined;
      cancelTimer();
    },
    stopReason: () => reason,
  };
}

// The message of each failed connection begins with the same words (src/client/failure.ts).
function withDuration(message: string, seconds: number): string {
  return message.replace('could not connect', `$& for ${seconds} s (--max-outage)`);
}

/** True if no connection was made. */
export function isConnectFailure({ code, facts }: Failure): boolean {
  return code === 'unreachable' && facts.phase === 'nothing';
}
