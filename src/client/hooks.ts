import type { Failure } from '../errors.ts';
import type { ExchangeSignal } from '../http/message.ts';
import type { Deadline } from '../http/time-limits.ts';
import type { JobOutcome } from '../train/job-history.ts';

/** Follows one request through its attempts. Sending prints nothing; its observer may. */
export interface RequestObserver {
  /** Called once, before the first byte is sent. An error that it throws keeps the request from being sent. */
  readonly onSend?: (() => Promise<void>) | undefined;
  /** Called when an attempt starts, with a function that describes its progress; the result is called when it ends. */
  readonly onAttempt?: ((describeProgress: () => string) => () => void) | undefined;
  /** Called before the wait for a retry; `retryNumber` counts from 1. */
  readonly onRetry?: ((failure: Failure, retryNumber: number, delayMs: number) => Promise<void>) | undefined;
  /** Waits until a response of more than 1 MiB may be held in memory; the result is called when it has been read. */
  readonly onLargeResponse?: (() => Promise<() => void>) | undefined;
  /** Takes each line of a verbose trace, as `curl -v` prints them; secret headers are redacted. */
  readonly onTrace?: ((line: string) => Promise<void>) | undefined;
  /** Called once when the outcome of all attempts is known; of a stream, when it begins. */
  readonly onOutcome?: ((outcome: JobOutcome) => Promise<void>) | undefined;
}

/** The turns of a request among others. */
export interface AttemptTurn {
  /** Waits until an attempt may start. Throws the Failure of a request that is not to be sent. */
  readonly acquire: () => Promise<void>;
  readonly report: (failure: Failure | undefined) => void;
  /** False for a failure that is not worth a retry. */
  readonly canRetry: (failure: Failure) => boolean;
  /** True for a failure after which the request waits for a turn again, as if it had not been sent. */
  readonly canWait: (failure: Failure) => boolean;
}

/** What a caller of `send` takes part in. */
export interface SendHooks {
  /** Ends everything, with its reason as the error. */
  readonly signal: ExchangeSignal;
  /** Ends the wait for a retry, but no request in flight; default: `signal`. */
  readonly waitSignal?: ExchangeSignal | undefined;
  /** Called when the first attempt may start: the deadline over attempts, waits and response. */
  readonly startDeadline: () => Deadline;
  readonly observer: RequestObserver;
  readonly turn?: AttemptTurn | undefined;
  /** Called when a response of the exchange may be for another request; see Request. */
  readonly onStrayData?: (() => void) | undefined;
}
