import type { Draft } from '../body/draft.ts';
import type { Destination } from '../client/destination.ts';
import type { ChatExpectations } from '../client/expectations/chat-expectations.ts';
import type { JunitReport } from '../client/expectations/junit-report.ts';
import type { RequestTarget } from '../client/request-context.ts';
import type { RequestObserver } from '../client/request-observer.ts';
import type { Context } from '../context.ts';
import type { ExchangeSignal, LinkedSignal } from '../http/exchange-signal.ts';
import type { Headers, Send } from '../http/message.ts';
import type { ResponseWarnings } from './line-warnings.ts';
import type { OutageMonitor } from './outage.ts';
import type { LineChecks } from './prepare-line.ts';
import type { RateLimiter } from './rate-limiter.ts';
import type { ResultSlotFactory } from './result-order.ts';
import type { ResultStore } from './result-store.ts';

/** Follows the request of a line, to record more than its result. */
export type LineObserver = Pick<RequestObserver, 'onSend' | 'onOutcome'>;

/** Creates the observer of a line, which an earlier run may have applied; undefined if lines need none. */
export type LineObservers = (draft: Draft, mayBeApplied: boolean) => LineObserver | undefined;

/** Everything that sends the lines of a batch. */
export interface BatchJob extends LineChecks {
  readonly destination: Destination;
  readonly target: RequestTarget;
  /** Headers of the command line. */
  readonly flagHeaders: Headers;
  readonly send: Send;
  /** Ends the connections that are kept for further lines. */
  readonly finishConnections: () => Promise<void>;
  readonly rateLimiter: RateLimiter;
  /** Takes a turn at holding a large response: one at a time, so that memory does not grow with the concurrency. */
  readonly takeTurn: () => Promise<() => void>;
  readonly outage: OutageMonitor;
  /** Ends requests in flight. */
  readonly signal: ExchangeSignal;
  /** Aborted to stop taking lines; requests in flight continue. */
  readonly stopSignal: LinkedSignal;
  /** Maximum retries per line. */
  readonly maxRetries: number;
  /** Time limit per line in milliseconds. */
  readonly timeoutMs: number | undefined;
  readonly resultStore: ResultStore;
  readonly observerFor: LineObservers;
  /** Lines with unknown outcome are sent. */
  readonly canRetryUnknown: boolean;
  readonly openSlot: ResultSlotFactory;
  readonly expectations: ChatExpectations | undefined;
  readonly junit: JunitReport | undefined;
  readonly responseWarnings: ResponseWarnings;
  /** Warnings are failures (`--strict`). */
  readonly isStrict: boolean;
  readonly context: Context;
}
