import { getMember, itemsAt, numberMember, rootOf } from '../../json/json-node.ts';
import { parseJson } from '../../json/parse-json.ts';
import type { ServiceStore, StoredRow } from './service-store.ts';

export type PageTable = 'calls' | 'feedback' | 'jobs' | 'chats';

/** Rows of a table, the newest first, and the cursor of the rows after them; without it there are no more. */
export interface RowPage {
  readonly rows: readonly StoredRow[];
  readonly next: string | undefined;
}

type Key = readonly (string | number)[];
type Condition = readonly [sql: string, values: Key];

interface TableColumns {
  /** The columns that order the newest rows; together unique. */
  readonly key: readonly string[];
  readonly columns: string;
  /** The columns of a list, if those of a record would be too large. */
  readonly listed?: string;
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
    columns: 'id, model_id, experimental_config, created_at',
    listed:
      'id, model_id, experimental_config, created_at, (select max(group_index) + 1 from @trajectories as each where each.job_id = jobs.id) as groups',
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
const TRAJECTORIES_PER_QUERY = 8;
const MAX_TRAJECTORIES = 2048;

/** Selects rows of a table. */
export interface PageQuery {
  /** The cursor of the page before. */
  readonly before: string | null;
  readonly search: string;
  /** Values by the names of the table's filters; others are ignored. */
  readonly filters: Readonly<Record<string, string>>;
  /** Milliseconds since 1970: the start inclusive, the end exclusive. */
  readonly window: readonly [start: number | undefined, end: number | undefined];
  readonly limit: number;
  /** Only the first call of each trace. */
  readonly isFirstOfTrace?: boolean;
}

// The order of the index by time: a database that knows little of its data could prefer another index, and sort.
const FIRST_OF_TRACE: Condition = [
  `not exists (select 1 from @calls as older where older.trace_id = calls.trace_id
    and (older.created_at, older.id, older.project_id) < (calls.created_at, calls.id, calls.project_id))`,
  [],
];

/** One page of a table from a cursor on, in a time that does not depend on how much is stored. */
export async function readPage(
  { readRows }: Pick<ServiceStore, 'readRows'>,
  table: PageTable,
  { before, search, filters, window: [start, end], limit, isFirstOfTrace }: PageQuery,
): Promise<RowPage> {
  const { key, columns, listed = columns, searched, filters: names } = pageTables[table];
  const keys = key.join(', ');
  const marks = key.map(() => '?').join(', ');
  const order = key.map((name) => `${name} desc`).join(', ');
  const select = (what: string, conditions: readonly Condition[], tail: string): Promise<readonly StoredRow[]> => {
    const where = conditions.length > 0 ? `where ${conditions.map(([sql]) => sql).join(' and ')}` : '';
    const values = conditions.flatMap(([, each]) => each);
    return readRows({ sql: `select ${what} from @${table} ${where} order by ${order} ${tail}`, values });
  };
  const keyOf = (row: StoredRow): Key => key.map((name, at) => (at === 0 ? Number(row[name]) : String(row[name])));
  const pageOf = (rows: readonly StoredRow[], rest: StoredRow | undefined): RowPage => {
    const last = rows.length > limit ? rows[limit - 1] : rest;
    return { rows: rows.slice(0, limit), next: last && JSON.stringify(keyOf(last)) };
  };
  const cursor = parseCursor(before, key.length);
  const range: Condition[] = [
    ...(cursor ? [[`(${keys}) < (${marks})`, cursor] as const] : []),
    ...(start === undefined ? [] : [['created_at >= ?', [start]] as const]),
    ...(end === undefined ? [] : [['created_at < ?', [end]] as const]),
  ];
  const matches = [
    ...Object.entries(names).flatMap(([name, column]) => filterCondition(column, filters[name])),
    ...(search === '' ? [] : [searchCondition(searched, search)]),
    ...(isFirstOfTrace ? [FIRST_OF_TRACE] : []),
  ];
  if (matches.length === 0) return pageOf(await select(listed, range, `limit ${limit + 1}`), undefined);
  const [last] = await select(keys, range, `limit 1 offset ${MAX_SEARCHED_ROWS - 1}`);
  const searchedRange: Condition[] = last ? [...range, [`(${keys}) >= (${marks})`, keyOf(last)]] : range;
  return pageOf(await select(listed, [...searchedRange, ...matches], `limit ${limit + 1}`), last);
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
  const hasProjects = pageTables[table].key.includes('project_id');
  const where = hasProjects ? 'project_id = ? and id = ?' : 'id = ?';
  const values = hasProjects ? [project, id] : [id];
  const [row] = await readRows({ sql: `select ${pageTables[table].columns} from @${table} where ${where}`, values });
  return row;
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

/** How many rows each table has; a count of 100,000 means that many or more. */
export async function readTotals({ readRows }: Pick<ServiceStore, 'readRows'>): Promise<{ [table: string]: number }> {
  const count = (table: PageTable): string =>
    `(select count(*) from (select 1 from @${table} order by created_at limit ${MAX_COUNTED_ROWS}) as each) as ${table}`;
  const [row] = await readRows({
    sql: `select ${count('calls')}, ${count('feedback')}, ${count('jobs')}, ${count('chats')}`,
    values: [],
  });
  return Object.fromEntries(Object.entries(row ?? {}).map(([table, total]) => [table, Number(total)]));
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
export async function* readTraceCalls(
  { readRows }: Pick<ServiceStore, 'readRows'>,
  traceId: string,
  limit: number,
): AsyncGenerator<readonly StoredRow[]> {
  let at: Key = [-1, '', ''];
  for (let count = 0; count < limit; count += ROWS_PER_CHUNK) {
    const rows = await readRows({
      sql: `select ${pageTables.calls.columns} from @calls
        where trace_id = ? and created_at >= ? and (created_at, id, project_id) > (?, ?, ?)
        order by created_at, id, project_id limit ${Math.min(ROWS_PER_CHUNK, limit - count)}`,
      values: [traceId, at[0] ?? 0, ...at],
    });
    yield rows;
    const last = rows.at(-1);
    if (rows.length < ROWS_PER_CHUNK || !last) return;
    at = [Number(last.created_at), String(last.id), String(last.project_id)];
  }
}

/** The number of calls of a trace. */
export function countTraceCalls({ readRows }: Pick<ServiceStore, 'readRows'>, traceId: string): Promise<number> {
  return readCount(readRows, `(select 1 from @calls where trace_id = ? limit ${MAX_COUNTED_ROWS}) as each`, traceId);
}

/** The types and payloads of feedback about the calls of a trace. */
export function readTraceFeedback(
  { readRows }: Pick<ServiceStore, 'readRows'>,
  traceId: string,
  limit: number,
): Promise<readonly StoredRow[]> {
  const sql = `select calls.project_id, calls.id, feedback_type, payload, feedback.created_at from @calls join @feedback
    on svc_ref = 'svc:///' || calls.project_id || '/call/' || calls.id where trace_id = ? limit ${limit}`;
  return readRows({ sql, values: [traceId] });
}

async function readCount(readRows: ServiceStore['readRows'], selection: string, id: string): Promise<number> {
  const [counts] = await readRows({ sql: `select count(*) as total from ${selection}`, values: [id] });
  return Number(counts?.total);
}

/**
 * The trajectories of a job in order, at most 2048 from a cursor on: the group, reward and final policy version (null
 * for what a double cannot hold), and the number of messages and of tokens with log probabilities.
 */
export async function readJob({ readRows }: ServiceStore, jobId: string, after: string | null) {
  const trajectories: { readonly [name in 'group' | 'reward' | 'version' | 'messages' | 'tokens']: number | null }[] =
    [];
  const total = await readCount(readRows, '@trajectories where job_id = ?', jobId);
  let at = parseCursor(after, 2)?.map(Number) ?? [-1, -1];
  for (let count = TRAJECTORIES_PER_QUERY; count === TRAJECTORIES_PER_QUERY; ) {
    if (trajectories.length === MAX_TRAJECTORIES) return { trajectories, total, next: JSON.stringify(at) };
    const rows = await readRows({
      sql: `select group_index, trajectory_index, cast(trajectory as text) as trajectory from @trajectories
        where job_id = ? and (group_index, trajectory_index) > (?, ?)
        order by group_index, trajectory_index limit ${TRAJECTORIES_PER_QUERY}`,
      values: [jobId, ...at],
    });
    for (const { group_index: group, trajectory_index: index, trajectory } of rows) {
      at = [Number(group), Number(index)];
      // With svc's own parser: that of a database rejects some JSON.
      const root = rootOf(parseJson(String(trajectory)));
      const finite = (name: string): number | null => {
        const value = numberMember(root, name) ?? Infinity;
        return Number.isFinite(value) ? value : null;
      };
      const messages = itemsAt(root, 'messages_and_choices');
      const tokens = messages.map((choice) => itemsAt(getMember(choice, 'logprobs'), 'content').length);
      trajectories.push({
        ...{ group: Number(group), reward: finite('reward'), version: finite('final_policy_version') },
        ...{ messages: messages.length, tokens: tokens.reduce((sum, each) => sum + each, 0) },
      });
    }
    count = rows.length;
  }
  return { trajectories, total, next: null };
}

function parseCursor(text: string | null, length: number): Key | undefined {
  if (text === null) return undefined;
  try {
    const key: unknown = JSON.parse(text);
    if (Array.isArray(key) && key.length === length && Number.isSafeInteger(key[0]))
      return key.map((part, at) => (at === 0 ? Number(part) : String(part)));
  } catch {}
  return undefined;
}

function escapePattern(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&');
}
