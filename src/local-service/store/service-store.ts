import type { ExchangeSignal } from '../../http/message.ts';
import type { StagedTrajectory } from './staging-file.ts';

/** The start of a call; the times of all records are in milliseconds since 1970. */
export interface CallRecord {
  readonly project: string;
  readonly id: string;
  /** The trace id that the body gives; without it the stored one stays. */
  readonly traceId: string | undefined;
  /** The trace id of a new call whose body gives none. */
  readonly newTraceId: string;
  /** The JSON text of the start, as it was sent. */
  readonly start: string;
  readonly createdAt: number;
}

/** A feedback record, and the id of the one that it replaces. */
export interface FeedbackRecord {
  readonly project: string;
  readonly id: string;
  readonly replacedId: string;
  readonly type: string;
  readonly trigger: string | null;
  /** What the feedback is about. */
  readonly ref: string;
  /** JSON texts, as they were sent. */
  readonly payload: string;
  readonly record: string;
  readonly user: string;
  readonly createdAt: number;
}

/** A training job without its trajectories. */
export interface JobRecord {
  readonly id: string;
  readonly modelId: string;
  /** JSON text. */
  readonly config: string | null;
  readonly createdAt: number;
}

/** A chat, as its bytes were sent in both directions. */
export interface ChatRecord {
  readonly id: string;
  readonly request: string;
  readonly response: string;
  readonly status: number;
  readonly createdAt: number;
  /** Milliseconds from the request to the end of the response. */
  readonly durationMs: number;
}

/** A query in the SQL that both databases share: `@calls` is a table, and `?` a value. */
export interface RowQuery {
  readonly sql: string;
  readonly values: readonly (string | number)[];
}

/** A row of such a query; numbers may come as text. */
export type StoredRow = { readonly [column: string]: unknown };

/**
 * The storage of the local service. Several services can share one. A write is durable when its promise
 * resolves, is stored completely or not at all, and is not stored once its signal is aborted: then it throws the
 * signal's reason. Throws StoreError if the store cannot be used right now.
 */
export interface ServiceStore {
  /** Stores a call, or sets the members it names on the stored call with its id; returns the trace id. */
  readonly saveCall: (call: CallRecord, signal: ExchangeSignal | undefined) => Promise<string>;
  /** Removes the replaced record and any record with the same id, and stores the new one. */
  readonly replaceFeedback: (record: FeedbackRecord, signal: ExchangeSignal | undefined) => Promise<void>;
  /** The newest payload per trigger, as JSON texts. */
  readonly samplePayloads: (query: PayloadQuery) => Promise<readonly string[]>;
  /** Stores a job with its trajectories, which are read in bounded memory, from their beginning at each call. */
  readonly saveJob: (
    job: JobRecord,
    trajectories: () => Iterable<StagedTrajectory>,
    signal: ExchangeSignal | undefined,
  ) => Promise<void>;
  readonly saveChat: (chat: ChatRecord) => Promise<void>;
  readonly readRows: (query: RowQuery) => Promise<readonly StoredRow[]>;
  /** Resolves when the store can be read and written. */
  readonly checkHealth: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Which payloads to sample. */
export interface PayloadQuery {
  readonly project: string;
  /** The window in milliseconds since 1970: start inclusive, end exclusive. */
  readonly window: readonly [start: number, end: number];
  readonly type: string | undefined;
  /** A trigger, or a prefix of several that ends in a colon. */
  readonly trigger: { readonly ref: string; readonly isPrefix: boolean } | undefined;
  /** The maximum number of triggers. */
  readonly limit: number;
}
