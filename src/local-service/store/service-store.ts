import type { ExchangeSignal } from '../../http/message.ts';
import { applySplices, splicesToSetMembers } from '../../json/edit.ts';
import { kindOf, membersOf, rawText, rootOf } from '../../json/json-node.ts';
import { parseJson } from '../../json/parse-json.ts';
import { yieldToEventLoop } from '../event-loop.ts';
import type { StagedTrajectory } from './staging-file.ts';

/** `full`: there is no space; `busy` and `lost`: a later attempt may succeed; `unsupported`: the store cannot hold the value; `unknown`: a write may have been stored. */
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

/** The stored start of a call with the fields of a later one set. Null fields count as absent (docs/servers.md). */
export function mergeCallStart(stored: string, later: string): string {
  const doc = parseJson(stored);
  const updates = new Map(
    Array.from(membersOf(rootOf(parseJson(later))))
      .filter(({ value }) => kindOf(value) !== 'null')
      .map(({ key, value }) => [key, { key, text: rawText(value) }]),
  );
  return applySplices(doc.bytes, splicesToSetMembers(rootOf(doc), [...updates.values()])).toString();
}

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

export interface JobRecord {
  readonly id: string;
  readonly modelId: string;
  readonly config: string | null;
  readonly createdAt: number;
}

/** A chat, as its bytes were sent in both directions. */
interface ChatRecord {
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
  /** Stores a call, or sets the fields it names on the stored call with its id; returns the trace id. */
  readonly saveCall: (call: CallRecord, signal: ExchangeSignal | undefined) => Promise<string>;
  /** Removes the replaced record and any record with the same id, and stores the new one. */
  readonly replaceFeedback: (record: FeedbackRecord, signal: ExchangeSignal | undefined) => Promise<void>;
  /** Runs a statement that removes rows; returns how many. */
  readonly removeRows: (query: RowQuery) => Promise<number>;
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
  readonly checkHealth: () => Promise<void>;
  readonly close: () => Promise<void>;
}

export interface PayloadQuery {
  readonly project: string;
  /** The window in milliseconds since 1970: start inclusive, end exclusive. */
  readonly window: readonly [start: number, end: number];
  readonly type: string | undefined;
  /** A trigger, or a prefix of several. */
  readonly trigger: { readonly ref: string; readonly isPrefix: boolean } | undefined;
  readonly limit: number;
}

// A statement blocks an embedded database for as long as its rows take.
const MAX_REMOVED_ROWS = 64;

const isOld = 'created_at < ?';
const prunedTables: readonly (readonly [table: string, key: string, condition: string])[] = [
  ['trajectories', 'job_id, group_index, trajectory_index', `job_id in (select id from @jobs where ${isOld})`],
  ['jobs', 'id', isOld],
  ['calls', 'seq', isOld],
  ['feedback', 'seq', isOld],
  ['chats', 'id', isOld],
];

/** Removes the records stored before a time, in milliseconds since 1970; returns how many. Throws the signal's reason. */
export async function pruneStore(
  { removeRows }: Pick<ServiceStore, 'removeRows'>,
  before: number,
  signal: ExchangeSignal,
): Promise<number> {
  let records = 0;
  for (const [table, key, condition] of prunedTables) {
    const oldRows = `select ${key} from @${table} where ${condition} limit ${MAX_REMOVED_ROWS}`;
    const sql = `delete from @${table} where (${key}) in (${oldRows})`;
    for (let rows = -1; rows !== 0; ) {
      rows = await removeRows({ sql, values: [before] });
      if (table !== 'trajectories') records += rows;
      await yieldToEventLoop(signal);
    }
  }
  return records;
}
