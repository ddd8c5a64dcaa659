import type { ServiceStore, StoredRow } from './service-store.ts';

/** The tables that the page shows. */
export type PageTable = 'calls' | 'feedback' | 'jobs' | 'chats';

/** Rows of a table, the newest first, and the cursor of the rows after them; without it there are no more. */
export interface RowPage {
  readonly rows: readonly StoredRow[];
  readonly next: string | undefined;
}

type Key = readonly (string | number)[];
type Condition = readonly [sql: string, values: Key];

interface TableColumns {
  /** What the newest rows are ordered by; together unique. */
  readonly key: readonly string[];
  readonly columns: string;
  readonly searched: string;
}

/** What the page shows of each table, and what its search looks at. */
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
const REWARDS_PER_QUERY = 64;
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
  const pattern = `%${search.replace(/[\\%_]/g, '\\$&')}%`;
  const matching: Condition = [`lower(${searched}) like lower(?) escape '\\'`, [pattern]];
  return pageOf(await select(columns, [...range, matching], `limit ${limit + 1}`), end);
}

/** The calls of a trace, the oldest first, at most 1000. */
export function readTrace({ readRows }: ServiceStore, traceId: string): Promise<readonly StoredRow[]> {
  const sql = `select ${pageTables.calls.columns} from @calls where trace_id = ? order by created_at limit ${MAX_TRACE_CALLS}`;
  return readRows({ sql, values: [traceId] });
}

/** The rewards of a job with their groups, in order, at most 2048; read a few at a time. */
export async function readRewards({ readRows }: ServiceStore, jobId: string): Promise<readonly (readonly number[])[]> {
  const rewards: (readonly number[])[] = [];
  for (let at: readonly number[] = [-1, -1]; rewards.length < MAX_REWARDS; ) {
    const rows = await readRows({
      sql: `select group_index, trajectory_index, @reward as reward from @trajectories
        where job_id = ? and (group_index, trajectory_index) > (?, ?)
        order by group_index, trajectory_index limit ${REWARDS_PER_QUERY}`,
      values: [jobId, ...at],
    });
    for (const row of rows) {
      at = [Number(row.group_index), Number(row.trajectory_index)];
      if (row.reward !== null) rewards.push([Number(row.group_index), Number(row.reward)]);
    }
    if (rows.length < REWARDS_PER_QUERY) break;
  }
  return rewards;
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
