import type { Buffer } from 'node:buffer';
import type { ExchangeSignal } from '../../http/message.ts';
import { applySplices, splicesToSetMembers } from '../../json/edit.ts';
import { kindOf, membersOf, rawText, rootOf } from '../../json/json-node.ts';
import { parseJson } from '../../json/parse-json.ts';
import { yieldToEventLoop } from '../event-loop.ts';
import { callFacts } from './record-facts.ts';
import {
  insertRows,
  type QuerySequence,
  type RowQuery,
  type RowValues,
  rowsOf,
  type StoredRow,
  setColumns,
} from './row-query.ts';
import { makeTraces, markTraces, markTracesOf } from './traces.ts';

/** A write or read that the store could not do; nothing of a write was stored, unless the reason is `unknown`. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  /** `busy`, `lost`: a later attempt may succeed; `unsupported`: the store cannot hold the value. */
  readonly reason: 'busy' | 'lost' | 'full' | 'unsupported' | 'unknown';

  constructor(reason: StoreError['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
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
 * The storage of the local service, which several services can share. A write is durable when its promise resolves, is stored
 * completely or not at all, and is not stored once its signal is aborted. Throws StoreError.
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
  readonly readRows: <Column extends string = never>(query: RowQuery<Column>) => Promise<readonly StoredRow<Column>[]>;
  /** Stores a job with its trajectories, which are read in bounded memory, from their beginning at each call. */
  readonly saveJob: (
    job: JobRow,
    trajectories: () => Iterable<StagedTrajectory>,
    signal: ExchangeSignal | undefined,
  ) => Promise<void>;
  readonly checkHealth: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Stores calls, each new or merged into the stored one with its id; returns their trace ids in order. */
export function* saveCalls(calls: readonly CallWrite[]): QuerySequence<string[]> {
  const firstOfKey = new Map(calls.toReversed().map(({ row }) => [rowKey(row), row]));
  // Sorted, so that two services lock rows in the same order.
  const rows = [...firstOfKey].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, row]) => row);
  const conflict = 'on conflict (project_id, id) do nothing';
  const inserted = new Set((yield* insertRows('calls', rows, conflict, ['project_id', 'id'])).map(rowKey));
  const [traceIds, left]: [string[], string[]] = [[], []];
  for (const call of calls) {
    const isNew = firstOfKey.get(rowKey(call.row)) === call.row && inserted.has(rowKey(call.row));
    if (isNew) traceIds.push(call.row.trace_id);
    else {
      const merged = yield* mergeCall(call);
      traceIds.push(merged.traceId);
      left.push(merged.earlierTraceId);
    }
  }
  yield* markTraces([...traceIds, ...left]);
  return traceIds;
}

function rowKey({ project_id: project, id }: StoredRow<'project_id' | 'id'>): string {
  return JSON.stringify([project, id]);
}

function* mergeCall({
  row,
  hasTraceId,
}: CallWrite): QuerySequence<{ readonly traceId: string; readonly earlierTraceId: string }> {
  const key = 'project_id = ? and id = ?';
  const values = [row.project_id, row.id];
  // An update locks the row in both databases.
  const [stored] = yield* rowsOf({
    sql: `update @calls set seq = seq where ${key} returning trace_id, start, created_at`,
    values,
    columns: ['trace_id', 'start', 'created_at'],
  });
  const earlierTraceId = String(stored?.trace_id);
  const traceId = hasTraceId ? row.trace_id : earlierTraceId;
  const start = mergeCallStart(String(stored?.start), row.start);
  const facts = callFacts(rootOf(parseJson(start)), row.id, Number(stored?.created_at));
  yield setColumns('calls', { trace_id: traceId, start, ...facts }, key, values);
  return { traceId, earlierTraceId };
}

// The stored start of a call with the members of a later one set. Null members count as absent (docs/internals/servers.md).
function mergeCallStart(stored: string, later: string): string {
  const doc = parseJson(stored);
  const updates = new Map(
    Array.from(membersOf(rootOf(parseJson(later))))
      .filter(({ value }) => kindOf(value) !== 'null')
      .map(({ key, value }) => [key, { key, text: rawText(value) }]),
  );
  return applySplices(doc.bytes, splicesToSetMembers(rootOf(doc), [...updates.values()])).toString();
}

/** Stores feedback records in order, each after the removal of the record that it replaces. */
export function* replaceFeedback(records: readonly FeedbackWrite[]): QuerySequence<true[]> {
  // Those that no later record removes.
  const kept = new Map<string, FeedbackWrite['row']>();
  const removed = records.flatMap(({ row, replacedId }) => [{ ...row, id: replacedId }, row]);
  for (const { row, replacedId } of records) {
    for (const id of [replacedId, row.id]) kept.delete(rowKey({ ...row, id }));
    kept.set(rowKey(row), row);
  }
  yield* deleteFeedback(removed);
  const columns = Object.keys(records[0]?.row ?? {}).map((name) => `${name} = excluded.${name}`);
  // Another service may have stored the same id in the meantime.
  const conflict = `on conflict (project_id, id) do update set seq = excluded.seq, ${columns.join(', ')}`;
  yield* insertRows('feedback', [...kept.values()], conflict);
  yield* markTracesOf(records.map(({ row }) => row.svc_ref));
  return records.map(() => true);
}

export function* deleteFeedback(rows: readonly Pick<FeedbackWrite['row'], 'project_id' | 'id'>[]): QuerySequence<void> {
  const marks = rows.map(() => '(?, ?)').join(', ');
  const values = rows.flatMap(({ project_id: project, id }) => [project, id]);
  const sql = `delete from @feedback where (project_id, id) in (values ${marks}) returning svc_ref`;
  const removed = yield* rowsOf({ sql, values, columns: ['svc_ref'] });
  yield* markTracesOf(removed.map(({ svc_ref: reference }) => reference));
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
  { commit, readRows }: Pick<ServiceStore, 'commit' | 'readRows'>,
  before: number,
  signal: ExchangeSignal,
): Promise<number> {
  let records = 0;
  for (const [table, key, condition] of prunedTables) {
    const oldRows = `select ${key} from @${table} where ${condition} limit ${MAX_REMOVED_ROWS}`;
    const changed = { calls: 'trace_id', feedback: 'svc_ref' }[table] ?? '1';
    const sql = `delete from @${table} where (${key}) in (${oldRows}) returning ${changed} as changed`;
    for (let rows = -1; rows !== 0; ) {
      rows = await commit(function* (): QuerySequence<number> {
        const removed = yield* rowsOf({ sql, values: [before], columns: ['changed'] });
        if (table === 'calls') yield* markTraces(removed.map(({ changed: id }) => String(id)));
        if (table === 'feedback') yield* markTracesOf(removed.map(({ changed: reference }) => reference));
        return removed.length;
      });
      if (table !== 'trajectories') records += rows;
      await yieldToEventLoop(signal);
    }
  }
  await makeTraces({ commit, readRows });
  return records;
}

interface PendingItem<Item, Result> {
  readonly item: Item;
  readonly signal: ExchangeSignal | undefined;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** An endless stream of items must not delay those that have already arrived. */
const MAX_BATCH_ITEMS = 1000;
const MAX_BATCH_CHARS = 8 * 1024 * 1024;

/**
 * Combines writes: those that arrive while a batch is being written share the next one. `write` stores a batch completely or not
 * at all; an item whose write fails fails alone, and one whose signal is aborted before is not written. `isGathering` waits
 * before each batch for items that are about to come.
 */
export function createSharedBatches<Item, Result>(
  write: (items: readonly Item[]) => Promise<readonly Result[]>,
  sizeOf: (item: Item) => number,
  isGathering = false,
): (item: Item, signal?: ExchangeSignal) => Promise<Result> {
  const pending: PendingItem<Item, Result>[] = [];
  let isWriting = false;
  const takeBatch = (): PendingItem<Item, Result>[] => {
    let [chars, count] = [0, 0];
    for (const { item } of pending.slice(0, MAX_BATCH_ITEMS)) {
      if (chars >= MAX_BATCH_CHARS) break;
      chars += sizeOf(item);
      count += 1;
    }
    return pending.splice(0, count).filter(({ signal, reject }) => {
      if (signal?.aborted) reject(signal.reason);
      return !signal?.aborted;
    });
  };
  const writeBatch = async (batch: readonly PendingItem<Item, Result>[]): Promise<void> => {
    try {
      const results = await write(batch.map(({ item }) => item));
      for (const [at, result] of results.entries()) batch[at]?.resolve(result);
    } catch (error) {
      const isShared = error instanceof StoreError && error.reason !== 'unsupported';
      if (batch.length === 1 || isShared) for (const { reject } of batch) reject(error);
      else for (const one of batch) await writeBatch([one]);
    }
  };
  const writeAll = async (): Promise<void> => {
    isWriting = true;
    while (pending.length > 0) {
      // Requests that come together are validated in several turns of the event loop; a turn that adds none ends the wait.
      for (let count = 0; isGathering && count < pending.length && count < MAX_BATCH_ITEMS; ) {
        count = pending.length;
        await yieldToEventLoop(undefined);
      }
      const batch = takeBatch();
      if (batch.length > 0) await writeBatch(batch);
    }
    isWriting = false;
  };
  return (item, signal) =>
    new Promise((resolve, reject) => {
      pending.push({ item, signal, resolve, reject });
      if (!isWriting) writeAll();
    });
}
