import type { Failure } from '../errors.ts';
import type { JobOutcome } from '../train/history/training-job.ts';

/** Follows one request through its attempts. An exchange prints nothing; its observer may. */
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
