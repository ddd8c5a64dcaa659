import type { ServiceStore, StoredRow } from './service-store.ts';

export const PAGE_TABLES = ['calls', 'feedback', 'jobs', 'chats'] as const;

export type PageTable = (typeof PAGE_TABLES)[number];

type Key = readonly (string | number)[];
type Condition = readonly [sql: string, values: Key];

interface TableColumns {
  /** The columns that order the newest rows; together unique. */
  readonly key: readonly string[];
  readonly columns: string;
  readonly searched: string;
  /** The columns that are filtered by their values; in those that end in a colon, by the value of a JSON field. */
  readonly filters: Readonly<Record<string, string>>;
}

export const pageTables: { readonly [table in PageTable]: TableColumns } = {
  calls: {
    key: ['created_at', 'id', 'project_id'],
    columns: 'project_id, id, trace_id, start, created_at',
    searched: "id || ' ' || trace_id || ' ' || start",
    filters: { project: 'project_id', op: 'start:op_name' },
  },
  feedback: {
    key: ['created_at', 'id', 'project_id'],
    columns: 'project_id, id, feedback_type, trigger_ref, record, svc_user_id, created_at',
    searched: "id || ' ' || svc_user_id || ' ' || record",
    filters: { project: 'project_id', type: 'feedback_type', trigger: 'trigger_ref', user: 'svc_user_id' },
  },
  jobs: {
    key: ['created_at', 'id'],
    columns: 'id, model_id, experimental_config, rewards, created_at',
    searched: "id || ' ' || model_id || ' ' || coalesce(experimental_config, '')",
    filters: { model: 'model_id' },
  },
  chats: {
    key: ['created_at', 'id'],
    columns: 'id, request, response, status, duration_ms, created_at',
    searched: "request || ' ' || response",
    filters: { model: 'request:model', status: 'status' },
  },
};

// A search reads at most this many rows per page; if few of them match, the next page continues after them.
const MAX_SEARCHED_ROWS = 2000;
const MAX_COUNTED_ROWS = 100_000;
const ROWS_PER_CHUNK = 250;

// Trajectories may have megabytes.
const TRAJECTORIES_PER_CHUNK = 8;

// The order of the index by time: a database that knows little of its data could prefer another index, and sort.
const FIRST_OF_TRACE: Condition = [
  `not exists (select 1 from @calls as older where older.trace_id = calls.trace_id
    and (older.created_at, older.id, older.project_id) < (calls.created_at, calls.id, calls.project_id))`,
  [],
];

/**
 * One page of a table, the newest rows first, and the cursor of the rows after them, if there are more; in a time that does not
 * depend on how much is stored. Of the parameters, `q` is a text to search, `from` (inclusive) and `until` (exclusive) are
 * milliseconds since 1970, `before` is the cursor of the page before, and others are values by the names of the table's filters.
 */
export async function readPage(
  { readRows }: Pick<ServiceStore, 'readRows'>,
  table: PageTable,
  parameters: { readonly [name: string]: string | undefined },
  limit: number,
  isFirstOfTrace = false,
) {
  const { key, columns, searched, filters: names } = pageTables[table];
  const [keys, marks] = [key.join(', '), key.map(() => '?').join(', ')];
  const order = key.map((name) => `${name} desc`).join(', ');
  const select = (what: string, conditions: readonly Condition[], tail: string): Promise<readonly StoredRow[]> => {
    const where = conditions.length > 0 ? `where ${conditions.map(([sql]) => sql).join(' and ')}` : '';
    const values = conditions.flatMap(([, each]) => each);
    return readRows({ sql: `select ${what} from @${table} ${where} order by ${order} ${tail}`, values });
  };
  const pageOf = (rows: readonly StoredRow[], rest: StoredRow | undefined) => {
    const last = rows.length > limit ? rows[limit - 1] : rest;
    return { rows: rows.slice(0, limit), next: last && JSON.stringify(keyOf(last, key)) };
  };
  const cursor = parseCursor(parameters.before, key.length);
  const timeCondition = (sql: string, text = ''): Condition[] =>
    /^-?\d{1,15}$/.test(text) ? [[sql, [Number(text)]]] : [];
  const range: Condition[] = [
    ...(cursor ? [[`(${keys}) < (${marks})`, cursor] as const] : []),
    ...timeCondition('created_at >= ?', parameters.from),
    ...timeCondition('created_at < ?', parameters.until),
  ];
  const matches = [
    ...Object.entries(names).flatMap(([name, column]) => filterCondition(column, parameters[name])),
    ...(parameters.q ? [searchCondition(searched, parameters.q)] : []),
    ...(isFirstOfTrace ? [FIRST_OF_TRACE] : []),
  ];
  if (matches.length === 0) return pageOf(await select(columns, range, `limit ${limit + 1}`), undefined);
  const [last] = await select(keys, range, `limit 1 offset ${MAX_SEARCHED_ROWS - 1}`);
  const searchedRange: Condition[] = last ? [...range, [`(${keys}) >= (${marks})`, keyOf(last, key)]] : range;
  return pageOf(await select(columns, [...searchedRange, ...matches], `limit ${limit + 1}`), last);
}

// An expression, so that the rows are read in the order of their index: that of a filtered column has another order.
function filterCondition(column: string, value: string | undefined): Condition[] {
  if (value === undefined) return [];
  const [text = '', field] = column.split(':');
  if (field === undefined) return [[`${text} || '' = ?`, [value]]];
  const pattern = (space: string): string => `%"${field}":${space}${escapePattern(JSON.stringify(value))}%`;
  return [[`(${text} like ? escape '\\' or ${text} like ? escape '\\')`, [pattern(''), pattern(' ')]]];
}

/** A record of a table by its id, and by its project if the table has projects. */
export async function readRecord(
  { readRows }: ServiceStore,
  table: PageTable,
  project: string,
  id: string,
): Promise<StoredRow | undefined> {
  const { key, columns } = pageTables[table];
  const [where, values] = key.includes('project_id') ? ['project_id = ? and id = ?', [project, id]] : ['id = ?', [id]];
  return (await readRows({ sql: `select ${columns} from @${table} where ${where}`, values }))[0];
}

/** The newest feedback about a call, at most 250 records. */
export function readFeedbackOf(
  { readRows }: Pick<ServiceStore, 'readRows'>,
  project: string,
  id: string,
): Promise<readonly StoredRow[]> {
  const sql = `select ${pageTables.feedback.columns} from @feedback where svc_ref = ? order by created_at desc limit ${ROWS_PER_CHUNK}`;
  return readRows({ sql, values: [`svc:///${project}/call/${id}`] });
}

/** How many rows each table has, as text; `100,000+` means that many or more. */
export async function readTotals({ readRows }: Pick<ServiceStore, 'readRows'>): Promise<{ [table: string]: string }> {
  const count = (table: PageTable): string =>
    `(select count(*) from (select 1 from @${table} order by created_at limit ${MAX_COUNTED_ROWS}) as each) as ${table}`;
  const [row] = await readRows({ sql: `select ${PAGE_TABLES.map(count).join(', ')}`, values: [] });
  const textOf = (total: number): string => total.toLocaleString('en') + (total === MAX_COUNTED_ROWS ? '+' : '');
  return Object.fromEntries(Object.entries(row ?? {}).map(([table, total]) => [table, textOf(Number(total))]));
}

// A search with more of them ignores the case of the first only.
const MAX_FOLDED_LETTERS = 50;

// Both databases fold the case of ASCII letters only, so the query folds the other letters of the search. In JSON, a text may
// be escaped, and its letters, too.
function searchCondition(searched: string, search: string): Condition {
  const foldings = [...new Set(search)].flatMap((letter): [from: string, to: string][] => {
    const folded = foldCase(letter);
    const variants = [letter, letter.toUpperCase(), letter.toLowerCase()].filter((variant) => variant !== folded);
    return letter > '\x7f' ? [...new Set(variants)].map((variant) => [variant, folded]) : [];
  });
  const replacements = foldings
    .slice(0, MAX_FOLDED_LETTERS)
    .flatMap(([from, to]) => [[from, to] as const, [escapeLetters(from), escapeLetters(to)] as const]);
  const text = replacements.reduce((sql) => `replace(${sql}, ?, ?)`, `lower(${searched})`);
  const folded = Array.from(search, foldCase).join('');
  const escaped = JSON.stringify(folded).slice(1, -1);
  const patterns = [...new Set([folded, escaped, escapeLetters(escaped)])];
  return [
    `(${patterns.map(() => `${text} like ? escape '\\'`).join(' or ')})`,
    patterns.flatMap((pattern) => [...replacements.flat(), `%${escapePattern(pattern)}%`]),
  ];
}

function foldCase(letter: string): string {
  return letter.toUpperCase().toLowerCase();
}

function escapeLetters(text: string): string {
  return text.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The calls of a trace, the oldest first, in chunks, and at most `limit`. */
export function readTraceCalls(store: Pick<ServiceStore, 'readRows'>, traceId: string, limit: number) {
  const { key, columns } = pageTables.calls;
  return readChunks(store, { columns, from: '@calls where trace_id', key, chunk: ROWS_PER_CHUNK }, traceId, limit);
}

export function readStoredTrajectories(store: Pick<ServiceStore, 'readRows'>, jobId: string) {
  const key = ['group_index', 'trajectory_index'];
  const columns = 'group_index, trajectory_index, cast(trajectory as text) as trajectory';
  return readChunks(store, { columns, from: '@trajectories where job_id', key, chunk: TRAJECTORIES_PER_CHUNK }, jobId);
}

// Each query continues after the last row, whose key begins with a number.
async function* readChunks(
  { readRows }: Pick<ServiceStore, 'readRows'>,
  { columns, from, key, chunk }: Record<'columns' | 'from', string> & Pick<TableColumns, 'key'> & { chunk: number },
  id: string,
  limit = Number.POSITIVE_INFINITY,
): AsyncGenerator<readonly StoredRow[]> {
  const [keys, marks] = [key.join(', '), key.map(() => '?').join(', ')];
  let last: StoredRow | undefined;
  for (let count = 0; count < limit; count += chunk) {
    const at = last ? keyOf(last, key) : [];
    const after = last ? `and ${key[0]} >= ? and (${keys}) > (${marks})` : '';
    const sql = `select ${columns} from ${from} = ? ${after} order by ${keys} limit ${Math.min(chunk, limit - count)}`;
    const rows = await readRows({ sql, values: [id, ...at.slice(0, 1), ...at] });
    yield rows;
    last = rows.at(-1);
    if (rows.length < chunk) return;
  }
}

function keyOf(row: StoredRow, key: readonly string[]): Key {
  return key.map((name, at) => (at === 0 || typeof row[name] === 'number' ? Number(row[name]) : String(row[name])));
}

export async function countTraceCalls({ readRows }: Pick<ServiceStore, 'readRows'>, traceId: string): Promise<number> {
  const calls = `select 1 from @calls where trace_id = ? limit ${MAX_COUNTED_ROWS}`;
  const [counts] = await readRows({ sql: `select count(*) as total from (${calls}) as each`, values: [traceId] });
  return Number(counts?.total);
}

export function readTraceFeedback(
  { readRows }: Pick<ServiceStore, 'readRows'>,
  traceId: string,
  limit: number,
): Promise<readonly StoredRow[]> {
  const sql = `select calls.project_id, calls.id, feedback_type, payload, feedback.created_at from @calls join @feedback
    on svc_ref = 'svc:///' || calls.project_id || '/call/' || calls.id where trace_id = ? limit ${limit}`;
  return readRows({ sql, values: [traceId] });
}

function parseCursor(text: string | undefined, length: number): Key | undefined {
  try {
    const key: unknown = JSON.parse(text ?? '');
    if (Array.isArray(key) && key.length === length && Number.isSafeInteger(key[0]))
      return key.map((part, at) => (at === 0 ? Number(part) : String(part)));
  } catch {}
  return undefined;
}

function escapePattern(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&');
}
