import type { Buffer } from 'node:buffer';
import type { Draft } from '../body/draft.ts';
import type { ChatExpectations } from '../client/expectations/chat-expectations.ts';
import type { RunReport } from '../client/expectations/run-report.ts';
import type { RequestObserver } from '../client/hooks.ts';
import type { Connection } from '../client/send.ts';
import type { Settings } from '../client/settings.ts';
import type { Context } from '../context.ts';
import type { ExchangeSignal } from '../http/message.ts';
import type { LineResult, LineRevision } from './line-result.ts';
import type { ResponseWarnings } from './line-warnings.ts';
import type { LineChecks } from './prepare-line.ts';
import type { ResultStore } from './result-store.ts';
import type { Scheduler, Turn } from './scheduler.ts';

/** Records the request of a line outside of the batch too, and prevents a duplicate there. */
export interface LineGuard extends Required<Pick<RequestObserver, 'onSend' | 'onOutcome'>> {
  readonly onSend: () => Promise<void>;
  /** The response to the line in an earlier run, if that is known outside of the batch. */
  readonly knownResponse: () => Promise<Buffer | undefined>;
}

/** Everything that sends the lines of a batch. */
export interface BatchJob extends LineChecks {
  readonly settings: Settings;
  readonly connection: Connection;
  readonly scheduler: Scheduler;
  /** Ends requests in flight. */
  readonly signal: ExchangeSignal;
  readonly resultStore: ResultStore;
  /** Called with the result of each line, once it is stored. */
  readonly onResult?: (line: number, result: LineResult) => Promise<void>;
  /** Creates the guard of a line, which an earlier run may have applied; undefined if lines need none. */
  readonly guardFor: (line: number, draft: Draft, mayBeApplied: boolean) => LineGuard | undefined;
  /** Lines with unknown outcome are sent. */
  readonly canRetryUnknown: boolean;
  readonly expectations: ChatExpectations | undefined;
  readonly runReport: RunReport | undefined;
  readonly responseWarnings: ResponseWarnings;
  readonly context: Context;
}

/** How far a line got, in case its result cannot be stored. */
export interface LineProgress {
  /** This run or an earlier one may have applied it. */
  mayBeApplied: boolean;
  /** This run sent it. */
  isSent: boolean;
  hasResponse: boolean;
}

/** Takes the result of a line. */
export interface LineOutput {
  /** Writes the result, or nothing, when it is its turn. After a failed write nothing more is written. */
  readonly put: (result: Uint8Array | undefined) => Promise<void>;
  readonly progress: LineProgress;
  readonly revise: (revision: LineRevision) => void;
  /** Called when the outcome of a line is known, before its result waits to be written. */
  readonly onOutcome: (outcome: Pick<LineResult, 'failure' | 'status'>) => void;
  /** Released by `onOutcome`, or with the line. */
  readonly turn: Turn;
}
