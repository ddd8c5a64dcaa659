import { numberMember, rootOf } from '../../json/json-node.ts';
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
  readonly searched: string;
}

export const pageTables: { readonly [table in PageTable]: TableColumns } = {
  calls: {
    key: ['created_at', 'id', 'project_id'],
    columns: 'project_id, id, trace_id, start, created_at',
    searched: "id || ' ' || trace_id || ' ' || start",
  },
  feedback: {
    key: ['created_at', 'id', 'project_id'],
    columns: 'project_id, id, feedback_type, trigger_ref, record, svc_user_id, created_at',
    searched: "id || ' ' || svc_user_id || ' ' || record",
  },
  jobs: {
    key: ['created_at', 'id'],
    columns: 'id, model_id, experimental_config, created_at',
    searched: "id || ' ' || model_id || ' ' || coalesce(experimental_config, '')",
  },
  chats: {
    key: ['created_at', 'id'],
    columns: 'id, request, response, status, created_at',
    searched: "request || ' ' || response",
  },
};

// A search reads at most this many rows per page; if few of them match, the next page continues after them.
const MAX_SEARCHED_ROWS = 2000;
const MAX_TRACE_CALLS = 1000;

// Trajectories may have megabytes.
const REWARDS_PER_QUERY = 8;
const MAX_REWARDS = 2048;

/** One page of a table from a cursor on, in a time that does not depend on how much is stored. */
export async function readPage(
  { readRows }: ServiceStore,
  table: PageTable,
  { before, search, limit }: { readonly before: string | null; readonly search: string; readonly limit: number },
): Promise<RowPage> {
  const { key, columns, searched } = pageTables[table];
  const keys = key.join(', ');
  const marks = key.map(() => '?').join(', ');
  const order = key.map((name) => `${name} desc`).join(', ');
  const select = (what: string, conditions: readonly Condition[], end: string): Promise<readonly StoredRow[]> => {
    const where = conditions.length > 0 ? `where ${conditions.map(([sql]) => sql).join(' and ')}` : '';
    const values = conditions.flatMap(([, each]) => each);
    return readRows({ sql: `select ${what} from @${table} ${where} order by ${order} ${end}`, values });
  };
  const keyOf = (row: StoredRow): Key => key.map((name, at) => (at === 0 ? Number(row[name]) : String(row[name])));
  const pageOf = (rows: readonly StoredRow[], rest: StoredRow | undefined): RowPage => {
    const last = rows.length > limit ? rows[limit - 1] : rest;
    return { rows: rows.slice(0, limit), next: last && JSON.stringify(keyOf(last)) };
  };
  const cursor = parseCursor(before, key.length);
  const after: Condition[] = cursor ? [[`(${keys}) < (${marks})`, cursor]] : [];
  if (search === '') return pageOf(await select(columns, after, `limit ${limit + 1}`), undefined);
  const [end] = await select(keys, after, `limit 1 offset ${MAX_SEARCHED_ROWS - 1}`);
  const range: Condition[] = end ? [...after, [`(${keys}) >= (${marks})`, keyOf(end)]] : after;
  const matching = searchCondition(searched, search);
  return pageOf(await select(columns, [...range, matching], `limit ${limit + 1}`), end);
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
    patterns.flatMap((pattern) => [...replacements.flat(), `%${pattern.replace(/[\\%_]/g, '\\$&')}%`]),
  ];
}

function foldCase(letter: string): string {
  return letter.toUpperCase().toLowerCase();
}

function escapeLetters(text: string): string {
  return text.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The calls of a trace, the oldest first, at most 1000, and the number of all. */
export async function readTrace(
  { readRows }: ServiceStore,
  traceId: string,
): Promise<{ readonly rows: readonly StoredRow[]; readonly total: number }> {
  const sql = `select ${pageTables.calls.columns} from @calls where trace_id = ? order by created_at limit ${MAX_TRACE_CALLS}`;
  const total = await readCount(readRows, '@calls where trace_id = ?', traceId);
  return { rows: await readRows({ sql, values: [traceId] }), total };
}

async function readCount(readRows: ServiceStore['readRows'], selection: string, id: string): Promise<number> {
  const [counts] = await readRows({ sql: `select count(*) as total from ${selection}`, values: [id] });
  return Number(counts?.total);
}

export interface JobRewards {
  /** The number of the group and the reward, of each that is a number which a double can hold. */
  readonly rewards: readonly (readonly [group: number, reward: number])[];
  /** Trajectories that were read: at most 2048. */
  readonly read: number;
  readonly total: number;
}

/** Reads the rewards of a job in order, a few trajectories at a time. */
export async function readRewards({ readRows }: ServiceStore, jobId: string): Promise<JobRewards> {
  const rewards: [number, number][] = [];
  const total = await readCount(readRows, '@trajectories where job_id = ?', jobId);
  let read = 0;
  for (let at: readonly number[] = [-1, -1]; read < MAX_REWARDS; ) {
    const rows = await readRows({
      sql: `select group_index, trajectory_index, cast(trajectory as text) as trajectory from @trajectories
        where job_id = ? and (group_index, trajectory_index) > (?, ?)
        order by group_index, trajectory_index limit ${REWARDS_PER_QUERY}`,
      values: [jobId, ...at],
    });
    for (const { group_index: group, trajectory_index: index, trajectory } of rows) {
      at = [Number(group), Number(index)];
      // With svc's own parser: that of a database rejects some JSON.
      const reward = numberMember(rootOf(parseJson(String(trajectory))), 'reward');
      if (reward !== undefined && Number.isFinite(reward)) rewards.push([Number(group), reward]);
    }
    read += rows.length;
    if (rows.length < REWARDS_PER_QUERY) break;
  }
  return { rewards, read, total };
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
