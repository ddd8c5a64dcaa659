import { formatCount } from '../../output/transfer-text.ts';
import { HttpError } from '../responses.ts';
import {
  type Condition,
  durationCondition,
  equals,
  failedCondition,
  joined,
  type Key,
  searchCondition,
  valueCondition,
} from './filter-conditions.ts';
import { type Columns, type RowQuery, type StoredRow, select } from './row-query.ts';
import type { ServiceStore } from './service-store.ts';
import { CALL_COLUMNS, REFERENCE } from './traces.ts';

export const PAGE_TABLES = ['calls', 'feedback', 'jobs', 'chats'] as const;

export type PageTable = (typeof PAGE_TABLES)[number];

// Those of a list: of calls, the traces.
const pageColumns = {
  calls: ['trace_id', 'started_ms', 'duration_ms', 'calls', 'failed', 'root_project', 'root_id', 'name', 'op_name'],
  feedback: ['project_id', 'id', 'feedback_type', 'trigger_ref', 'record', 'svc_user_id', 'created_at'],
  jobs: ['id', 'model_id', 'experimental_config', 'rewards', 'created_at'],
  chats: ['id', 'request', 'response', 'status', 'duration_ms', 'created_at'],
} as const satisfies { readonly [table in PageTable]: readonly string[] };

type PageColumn<Table extends PageTable> = (typeof pageColumns)[Table][number];

/** A row of a list. */
export type PageRow<Table extends PageTable> = StoredRow<PageColumn<Table>>;

export type Parameters = { readonly [name: string]: string | undefined };

/** The rows of a list: those of a table, or the traces of calls. */
interface RowSource {
  /** The columns that order the rows; together unique. */
  readonly key: readonly string[];
  readonly isAscending?: boolean;
  readonly from: string;
  /** The column of the time that is filtered. */
  readonly time: string;
  /** What all rows fulfill. */
  readonly condition?: Condition;
  readonly filters: { readonly [name: string]: (value: string) => Condition };
  /** The condition of several parameters together. */
  readonly match?: (parameters: Parameters) => Condition | undefined;
}

type Store = Pick<ServiceStore, 'readRows'>;

const searches = (text: string) => (value: string) => searchCondition(text, value);

// With a limit, so that PostgreSQL looks up the calls of each trace, and does not join the tables.
const LOOKED_UP = '(select 1';

const FEEDBACK_TEXT = `feedback.feedback_type || ' ' || coalesce(feedback.fact, '') || ' ' || feedback.id || ' ' ||
  feedback.svc_user_id || ' ' || feedback.record`;

const feedbackFilters: RowSource['filters'] = { type: equals('feedback.feedback_type'), value: valueCondition };

const sources: { readonly [table in Exclude<PageTable, 'calls'>]: RowSource } = {
  feedback: {
    key: ['created_at', 'id', 'project_id'],
    from: '@feedback as feedback',
    time: 'created_at',
    filters: {
      ...feedbackFilters,
      project: equals('project_id'),
      trigger: equals('trigger_ref'),
      user: equals('svc_user_id'),
      q: searches(FEEDBACK_TEXT),
    },
  },
  jobs: {
    key: ['created_at', 'id'],
    from: '@jobs as jobs',
    time: 'created_at',
    filters: {
      job: equals('id'),
      name: (value) => searchCondition("replace(experimental_config, '}', ',')", `name:${value},`),
      model: equals('model_id'),
      q: searches("id || ' ' || model_id || ' ' || coalesce(experimental_config, '')"),
    },
  },
  chats: {
    key: ['created_at', 'id'],
    from: '@chats as chats',
    time: 'created_at',
    filters: {
      model: (value) => searchCondition("replace(request, '}', ',')", `model:${value},`),
      status: equals('status'),
      q: searches("request || ' ' || response"),
    },
  },
};

const traceOrders: { readonly [sort: string]: readonly string[] } = {
  start: ['started_ms', 'trace_id'],
  duration: ['duration_ms', 'trace_id'],
  failures: ['failed', 'started_ms', 'trace_id'],
};

// With the names of their roots.
const NAMED_TRACES = `(select traces.*, ${['name', 'op_name'].map(
  (column) =>
    `(select calls.${column} from @calls as calls where calls.project_id = root_project and calls.id = root_id) as ${column}`,
)} from @traces as traces) as traces`;

function tracesIn({ sort = 'start', order }: Parameters): RowSource {
  const key = traceOrders[sort];
  if (!key) throw new HttpError(400, `sort must be one of: ${Object.keys(traceOrders).join(', ')}`);
  return {
    key,
    isAscending: order === 'ascending',
    from: NAMED_TRACES,
    time: 'started_ms',
    // A trace that has just arrived has no columns yet.
    condition: ['calls > 0', []],
    filters: { failed: failedCondition, duration: durationCondition },
    match: (parameters) => {
      const found = callCondition(parameters);
      return (
        found && [
          `${LOOKED_UP} from @calls as calls where calls.trace_id = traces.trace_id and ${found[0]} limit 1) = 1`,
          found[1],
        ]
      );
    },
  };
}

// The calls that match: all filters but those of traces are about one and the same call.
function callCondition(parameters: Parameters): Condition | undefined {
  const { q = '', project, op } = parameters;
  const feedback = conditionsOf(feedbackFilters, parameters);
  const about = (conditions: readonly Condition[]): Condition => {
    const [sql, values] = joined([[REFERENCE, []], ...conditions]);
    return [`${LOOKED_UP} from @feedback as feedback where ${sql} limit 1) = 1`, values];
  };
  const conditions: Condition[] = [
    ...(project ? [equals('calls.project_id')(project)] : []),
    ...(op ? [equals('calls.op_name')(op)] : []),
    ...(feedback.length > 0 ? [about(feedback)] : []),
  ];
  if (q) {
    const [ofCall, ofFeedback] = [
      searchCondition("calls.id || ' ' || calls.trace_id || ' ' || calls.start", q),
      about([searchCondition(FEEDBACK_TEXT, q)]),
    ];
    conditions.push([`(${ofCall[0]} or ${ofFeedback[0]})`, [...ofCall[1], ...ofFeedback[1]]]);
  }
  return conditions.length > 0 ? joined(conditions) : undefined;
}

/** The filters of a list. */
export function filterNames(table: PageTable): readonly string[] {
  return table === 'calls'
    ? ['q', 'failed', 'duration', 'project', 'op', ...Object.keys(feedbackFilters)]
    : Object.keys(sources[table].filters);
}

/** Whether some calls of a trace match, and others do not. */
function hasMatches(parameters: Parameters): boolean {
  return ['q', 'op', 'type', 'value'].some((name) => parameters[name]);
}

function conditionsOf(filters: RowSource['filters'], parameters: Parameters): Condition[] {
  return Object.entries(filters).flatMap(([name, condition]) => {
    const value = parameters[name];
    return value ? [condition(value)] : [];
  });
}

// A search reads at most this many rows per page, or the traces of so many calls; if few of them match, the next page
// continues after them.
const MAX_SEARCHED_ROWS = 2000;
const MAX_SEARCHED_CALLS = 5000;
// Filters of traces read columns of short rows.
const MAX_FILTERED_TRACES = 5000;
const MAX_COUNTED_ROWS = 100_000;
const ROWS_PER_CHUNK = 250;

// Trajectories may have megabytes.
const TRAJECTORIES_PER_CHUNK = 8;

/**
 * One page of a list in its order, the newest rows first, with the keys that order them, and the cursor of the rows after them, if there are more; in a time
 * that does not depend on how much is stored. Of the parameters, `q` is a text to search, `from` (inclusive) and `until`
 * (exclusive) are milliseconds since 1970, `before` is the cursor of the page before, and others are the filters of the list,
 * and the order of traces. Throws HttpError 400 for a value that is not understood.
 */
export async function readPage<Table extends PageTable>(
  { readRows }: Store,
  table: Table,
  parameters: Parameters,
  limit: number,
) {
  const name: PageTable = table;
  const source = name === 'calls' ? tracesIn(parameters) : sources[name];
  const columns: readonly PageColumn<Table>[] = pageColumns[table];
  const { key, from, time, condition, filters, match, isAscending = false } = source;
  const [keys, marks] = [key.join(', '), key.map(() => '?').join(', ')];
  const [after, upTo] = isAscending ? ['>', '<='] : ['<', '>='];
  const order = key.map((name) => `${name} ${isAscending ? 'asc' : 'desc'}`).join(', ');
  const read = <Column extends string>(names: readonly Column[], conditions: readonly Condition[], tail: string) => {
    const [where, values] = joined(conditions);
    return readRows(select(names, `from ${from} ${where && `where ${where}`} order by ${order} ${tail}`, values));
  };
  const pageOf = (found: readonly PageRow<Table>[], rest: object | undefined) => {
    const last = found.length > limit ? found[limit - 1] : rest;
    const rows = found.slice(0, limit);
    const keysOfRows = rows.map((row) => keyOf(row, key));
    return { rows, keys: keysOfRows, next: last && JSON.stringify(keyOf(last, key)), isAscending };
  };
  const cursor = parseCursor(parameters.before, key.length);
  const timeCondition = (sql: string, text = ''): Condition[] =>
    /^-?\d{1,15}$/.test(text) ? [[sql, [Number(text)]]] : [];
  const range: Condition[] = [
    ...(cursor ? [[`(${keys}) ${after} (${marks})`, cursor] as const] : []),
    ...timeCondition(`${time} >= ?`, parameters.from),
    ...timeCondition(`${time} < ?`, parameters.until),
    ...(condition ? [condition] : []),
  ];
  const matching = match?.(parameters);
  const matches = [...conditionsOf(filters, parameters), ...(matching ? [matching] : [])];
  if (matches.length === 0) return pageOf(await read(columns, range, `limit ${limit + 1}`), undefined);
  const last = matching
    ? lastSearched(await read([...key, 'calls'], range, `limit ${MAX_SEARCHED_ROWS}`))
    : (await read(key, range, `limit 1 offset ${(match ? MAX_FILTERED_TRACES : MAX_SEARCHED_ROWS) - 1}`))[0];
  const searchedRange: Condition[] = last ? [...range, [`(${keys}) ${upTo} (${marks})`, keyOf(last, key)]] : range;
  return pageOf(await read(columns, [...searchedRange, ...matches], `limit ${limit + 1}`), last);
}

// The last trace of those that are searched; undefined if there are no more.
function lastSearched<Row extends StoredRow<'calls'>>(rows: readonly Row[]): Row | undefined {
  let calls = 0;
  const last = rows.find((row) => {
    calls += Number(row.calls);
    return calls >= MAX_SEARCHED_CALLS;
  });
  return last ?? rows[MAX_SEARCHED_ROWS - 1];
}

const MAX_MATCHES = 2000;

const FAILED_CALLS: Condition = [`${CALL_COLUMNS.failed} = 1`, []];

/** Of some traces, the calls that match, or, of a filter for failures alone, that failed, in the order of their start. */
export async function readMatches({ readRows }: Store, traceIds: readonly string[], parameters: Parameters) {
  const failed = parameters.failed === 'yes' ? FAILED_CALLS : undefined;
  const found = hasMatches(parameters) ? callCondition(parameters) : failed;
  if (!found || traceIds.length === 0) return [];
  const from = `from @calls as calls
    where trace_id in (${traceIds.map(() => '?').join(', ')}) and ${found[0]} limit ${MAX_MATCHES}`;
  const columns = ['trace_id', 'project_id', 'id', 'name', 'started_ms'] as const;
  const rows = await readRows(select(columns, from, [...traceIds, ...found[1]]));
  return rows.toSorted((left, right) => Number(left.started_ms) - Number(right.started_ms));
}

/** A record of a table by its id, and by its project if the table has projects. */
export async function readRecord({ readRows }: Store, table: PageTable, project: string, id: string) {
  const hasProject = table === 'calls' || table === 'feedback';
  const [where, values] = hasProject ? ['project_id = ? and id = ?', [project, id]] : ['id = ?', [id]];
  const from = `from @${table} as ${table} where ${where}`;
  const query: RowQuery<string> =
    table === 'calls'
      ? select({ trace_id: 'calls.trace_id', start: 'calls.start', ...CALL_COLUMNS }, from, values)
      : select(pageColumns[table], from, values);
  return (await readRows(query))[0];
}

const CALL_ROW = ['project_id', 'id', 'trace_id', 'start', 'created_at'] as const;

/** The newest feedback about a call, at most 250 records. */
export function readFeedbackOf({ readRows }: Store, project: string, id: string) {
  const from = `from @feedback where svc_ref = ? order by created_at desc limit ${ROWS_PER_CHUNK}`;
  return readRows(select(pageColumns.feedback, from, [`svc:///${project}/call/${id}`]));
}

/** How many rows each table has, as text; `100,000+` means that many or more. */
export async function readTotals({ readRows }: Store): Promise<{ [table: string]: string }> {
  // In the order of an index, which is smaller than its table.
  const counts = [...PAGE_TABLES, 'traces'].map((table) => {
    const order = table === 'traces' ? 'started_ms' : 'created_at';
    return [
      table,
      `(select count(*) from (select 1 from @${table} order by ${order} limit ${MAX_COUNTED_ROWS}) as each)`,
    ];
  });
  const [row] = await readRows(select<string>(Object.fromEntries(counts), '', []));
  const textOf = (total: number): string => formatCount(total) + (total === MAX_COUNTED_ROWS ? '+' : '');
  return Object.fromEntries(Object.entries(row ?? {}).map(([table, total]) => [table, textOf(Number(total))]));
}

/** The calls of a trace, the oldest first, in chunks, at most `limit`, and only those that match: with their bodies. */
export function readTraceCalls(store: Store, traceId: string, parameters: Parameters) {
  const found = hasMatches(parameters) ? callCondition(parameters) : undefined;
  return readChunks(store, { ...traceCalls, columns: CALL_ROW, chunk: ROWS_PER_CHUNK }, traceId, found);
}

const SUMMARIES_PER_CHUNK = 1000;

/** What is shown of the calls of a trace, the oldest first, in chunks, and at most `limit`. */
export function readTraceSummaries(store: Store, traceId: string, limit: number) {
  const query = { ...traceCalls, columns: CALL_COLUMNS, chunk: SUMMARIES_PER_CHUNK };
  return readChunks(store, query, traceId, undefined, limit);
}

const traceCalls = { from: '@calls as calls where trace_id', key: ['created_at', 'id', 'project_id'] };

export function readStoredTrajectories(store: Store, jobId: string) {
  const key = ['group_index', 'trajectory_index'];
  const columns = {
    ...{ group_index: 'group_index', trajectory_index: 'trajectory_index' },
    trajectory: 'cast(trajectory as text)',
  };
  return readChunks(store, { columns, from: '@trajectories where job_id', key, chunk: TRAJECTORIES_PER_CHUNK }, jobId);
}

// Each query continues after the last row, whose key begins with a number.
async function* readChunks<Column extends string>(
  { readRows }: Store,
  { columns, from, key, chunk }: Pick<RowSource, 'from' | 'key'> & { columns: Columns<Column>; chunk: number },
  id: string,
  condition: Condition = ['1 = 1', []],
  limit = Number.POSITIVE_INFINITY,
): AsyncGenerator<readonly StoredRow<Column>[]> {
  const [keys, marks] = [key.join(', '), key.map(() => '?').join(', ')];
  let last: object | undefined;
  for (let count = 0; count < limit; count += chunk) {
    const at = last ? keyOf(last, key) : [];
    const after = last ? `and ${key[0]} >= ? and (${keys}) > (${marks})` : '';
    const some = `from ${from} = ? and ${condition[0]} ${after} order by ${keys} limit ${Math.min(chunk, limit - count)}`;
    const rows = await readRows(select(columns, some, [id, ...condition[1], ...at.slice(0, 1), ...at]));
    yield rows;
    last = rows.at(-1);
    if (rows.length < chunk) return;
  }
}

// The first column of a key is a number, which may come as text.
function keyOf(row: object, key: readonly string[]): Key {
  const values = new Map<string, unknown>(Object.entries(row));
  return key.map((name, at) => {
    const value = values.get(name);
    return at === 0 || typeof value === 'number' ? Number(value) : String(value);
  });
}

export async function countTraceCalls({ readRows }: Store, traceId: string): Promise<number> {
  const calls = `select 1 from @calls where trace_id = ? limit ${MAX_COUNTED_ROWS}`;
  const [counts] = await readRows(select({ total: 'count(*)' }, `from (${calls}) as each`, [traceId]));
  return Number(counts?.total);
}

/** The feedback about the calls of some traces, the oldest first, with its fact for lists, and without its payload. */
export async function readTraceFeedback({ readRows }: Store, traceIds: readonly string[], limit: number) {
  if (traceIds.length === 0) return [];
  const columns = {
    ...{ trace_id: 'calls.trace_id', project_id: 'calls.project_id', id: 'calls.id', fact: 'feedback.fact' },
    ...{ feedback_type: 'feedback.feedback_type', created_at: 'feedback.created_at' },
  };
  const from = `from @calls as calls join @feedback as feedback on ${REFERENCE}
    where calls.trace_id in (${traceIds.map(() => '?').join(', ')}) limit ${limit}`;
  const rows = await readRows(select(columns, from, traceIds));
  return rows.toSorted((left, right) => Number(left.created_at) - Number(right.created_at));
}

function parseCursor(text: string | undefined, length: number): Key | undefined {
  try {
    const key: unknown = JSON.parse(text ?? '');
    if (Array.isArray(key) && key.length === length && typeof key[0] === 'number')
      return key.map((part) => (typeof part === 'number' ? part : String(part)));
  } catch {}
  return undefined;
}
