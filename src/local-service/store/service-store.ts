import type { Buffer } from 'node:buffer';
import type { ExchangeSignal } from '../../http/message.ts';

/** `full`: there is no space; `busy`, `lost`: a later attempt may succeed; `unsupported`: the store cannot hold the value. */
type StoreErrorReason = 'busy' | 'lost' | 'full' | 'unsupported' | 'unknown';

/** A write or read that the store could not do; nothing of a write was stored, unless the reason is `unknown`. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly reason: StoreErrorReason;

  constructor(reason: StoreErrorReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** A query in the SQL that both databases share: `@calls` is a table, and `?` a value. */
export interface RowQuery {
  readonly sql: string;
  readonly values: readonly (string | number | null)[];
}

/** A row of such a query; numbers may come as text. */
export type StoredRow = { readonly [column: string]: unknown };

/** Queries, each of which receives its rows, and a result. */
export type QuerySequence<Result> = Generator<RowQuery, Result, readonly StoredRow[]>;

export type RowValues = { readonly [column: string]: RowQuery['values'][number] };

/** Inserts rows with the same columns; `conflict` says what to do if they exist, and what to return. */
export function* insertRows(
  table: string,
  rows: readonly RowValues[],
  conflict = '',
): QuerySequence<readonly StoredRow[]> {
  const columns = Object.keys(rows[0] ?? {});
  const marks = rows.map(() => `(${columns.map(() => '?').join(', ')})`).join(', ');
  const sql = `insert into @${table} (${columns.join(', ')}) values ${marks} ${conflict}`;
  return yield { sql, values: rows.flatMap((row) => columns.map((name) => row[name] ?? null)) };
}

export interface CallWrite {
  readonly row: RowValues & { readonly [column in 'project_id' | 'id' | 'trace_id' | 'start']: string };
  /** False if the trace id is for a new call only. */
  readonly hasTraceId: boolean;
}

/** A feedback record to store, and the id of the one that it replaces. */
export interface FeedbackWrite {
  readonly row: RowValues & { readonly [column in 'project_id' | 'id' | 'record']: string };
  readonly replacedId: string;
}

export type JobRow = RowValues & { readonly id: string };

/** A trajectory and its place in a job. The bytes are valid until the next one is requested. */
export interface StagedTrajectory {
  readonly group: number;
  readonly index: number;
  readonly bytes: Buffer;
}

/**
 * The storage of the local service. Several services can share one. A write is durable when its promise
 * resolves, is stored completely or not at all, and is not stored once its signal is aborted: then it throws the
 * signal's reason. Throws StoreError if the store cannot be used right now.
 */
export interface ServiceStore {
  /** Stores a call, or sets the members it names on the stored call with its id; returns the trace id. */
  readonly saveCall: (call: CallWrite, signal: ExchangeSignal | undefined) => Promise<string>;
  /** Removes the replaced record and any record with the same id, and stores the new one. */
  readonly replaceFeedback: (feedback: FeedbackWrite, signal: ExchangeSignal | undefined) => Promise<unknown>;
  /** Runs queries that write in one transaction; they may run several times, of which only the last is kept. */
  readonly commit: <T>(queries: () => QuerySequence<T>) => Promise<T>;
  /** Runs queries that read on one snapshot of the data. */
  readonly snapshot: <T>(queries: () => QuerySequence<T>) => Promise<T>;
  readonly readRows: (query: RowQuery) => Promise<readonly StoredRow[]>;
  /** Stores a job with its trajectories, which are read in bounded memory, from their beginning at each call. */
  readonly saveJob: (
    job: JobRow,
    trajectories: () => Iterable<StagedTrajectory>,
    signal: ExchangeSignal | undefined,
  ) => Promise<void>;
  readonly checkHealth: () => Promise<void>;
  readonly close: () => Promise<void>;
}
