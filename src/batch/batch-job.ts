import type { BodyCheck } from '../body/body-check.ts';
import type { Authorization, Destination } from '../client/destination.ts';
import type { RequestTarget } from '../client/request-context.ts';
import type { RetryBudget } from '../client/retry-budget.ts';
import type { Context } from '../context.ts';
import type { Issue } from '../errors.ts';
import type { Headers, Send } from '../http/message.ts';
import type { CustomIdTracker } from './custom-ids.ts';
import type { LineDraftOptions } from './line-draft.ts';
import type { LineObservers } from './line-observers.ts';
import type { OutageMonitor } from './outage.ts';
import type { RateLimiter } from './rate-limiter.ts';
import type { ResultSlotFactory } from './result-order.ts';
import type { ResultStore } from './result-store.ts';

/** What all lines of a batch are checked with. */
export interface LineChecks {
  readonly draftOptions: LineDraftOptions;
  /** What to call the file of lines. */
  readonly label: string;
  readonly check: BodyCheck;
  readonly onWarning: (warning: Issue) => Promise<void>;
  readonly customIds: CustomIdTracker;
}

/** What all lines of a batch are sent with. */
export interface BatchJob extends LineChecks {
  readonly url: URL;
  readonly destination: Destination;
  readonly target: RequestTarget;
  /** Headers of the command line. */
  readonly flagHeaders: Headers;
  readonly authorization: Authorization | undefined;
  readonly send: Send;
  readonly rateLimiter: RateLimiter;
  readonly outage: OutageMonitor;
  /** Aborted when nothing more is to leave; what is under way goes on. */
  readonly stopController: AbortController;
  readonly retryBudget: RetryBudget;
  /** The most repeats of a line. */
  readonly maxRetries: number;
  /** Milliseconds for a line. */
  readonly timeoutMs: number | undefined;
  readonly resultStore: ResultStore;
  readonly observerFor: LineObservers;
  /** Lines that may have been applied are sent again. */
  readonly canRetryUnknown: boolean;
  readonly openSlot: ResultSlotFactory;
  readonly context: Context;
}
