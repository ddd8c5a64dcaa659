import type { Failure } from '../errors.ts';
import type { Runtime } from '../runtime.ts';

/** Watches whether the service can be connected to at all. */
export interface OutageMonitor {
  /** False where lines fail at once while the service is down. */
  readonly isEnabled: boolean;
  /** True for a line that waits for the service; false for a failure of its own, and once the outage is too long. */
  readonly canWait: (failure: Failure) => boolean;
  /** Begins an outage, or ends the waiting: no connection could be made. */
  readonly onFailedConnect: (failure: Failure) => void;
  /** Ends an outage: a connection was made. */
  readonly onConnected: () => void;
  /** Why the batch gave up waiting. */
  readonly stopReason: () => string | undefined;
}

/**
 * Watches for outages of up to `maxOutageMs`; 0 waits for none. `onStart` is called at the beginning of each outage with
 * the failure that showed it, `onGiveUp` once the outage is too long.
 */
export function createOutageMonitor(
  maxOutageMs: number,
  { elapsed }: Pick<Runtime, 'elapsed'>,
  { onStart, onGiveUp }: { readonly onStart: (failure: Failure) => void; readonly onGiveUp: () => void },
): OutageMonitor {
  let startedAt: number | undefined;
  let reason: string | undefined;
  return {
    isEnabled: maxOutageMs > 0,
    canWait: (failure) => maxOutageMs > 0 && reason === undefined && isConnectFailure(failure),
    onFailedConnect: (failure) => {
      if (startedAt === undefined) {
        startedAt = elapsed();
        onStart(failure);
      } else if (reason === undefined && elapsed() - startedAt >= maxOutageMs) {
        reason = `could not connect for ${Math.round((elapsed() - startedAt) / 1000)} s (--max-outage): ${failure.message}`;
        onGiveUp();
      }
    },
    onConnected: () => {
      startedAt = undefined;
    },
    stopReason: () => reason,
  };
}

/** True where no connection was made, for a reason that may pass. */
export function isConnectFailure({ code, facts }: Failure): boolean {
  return code === 'unreachable' && facts.phase === 'nothing' && facts.isPermanent !== true;
}
