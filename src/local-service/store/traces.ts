import { Buffer } from 'node:buffer';
import type { StartTimer } from '../../http/time-limits.ts';
import type { JsonNode } from '../../json/json-node.ts';
import { tryParseJson } from '../../json/parse-json.ts';
import { yieldToEventLoop } from '../event-loop.ts';
import { callFacts, feedbackFacts } from './record-facts.ts';
import {
  type QuerySequence,
  type RowQuery,
  type RowValues,
  rowsOf,
  type StoredRow,
  select,
  setColumns,
} from './row-query.ts';

// The reference of feedback to a call of the query around it.
export const REFERENCE = `svc_ref = 'svc:///' || calls.project_id || '/call/' || calls.id`;

// The newest feedback that has a duration counts, if the call has no end of its own.
const DURATION = `coalesce(calls.duration_ms, (select feedback.duration_ms from @feedback as feedback where ${REFERENCE}
  and feedback.duration_ms is not null order by feedback.created_at desc limit 1))`;
const FAILED = `case when calls.failed = 1 or exists (select 1 from @feedback as feedback where ${REFERENCE}
  and feedback.failed = 1) then 1 else 0 end`;

/** What is shown of a call, without its inputs: in a query that reads from `@calls as calls`. */
export const CALL_COLUMNS = {
  ...{ project_id: 'calls.project_id', id: 'calls.id', parent_id: 'calls.parent_id', op_name: 'calls.op_name' },
  ...{ name: 'calls.name', started_ms: 'calls.started_ms', created_at: 'calls.created_at' },
  ...{ duration_ms: DURATION, failed: FAILED },
};

/** Notes that a trace has changed; it is made again when the page asks for traces. */
export function* markTraces(traceIds: readonly string[]): QuerySequence<void> {
  // Sorted, so that two services lock rows in the same order.
  const ids = [...new Set(traceIds)].sort();
  if (ids.length === 0) return;
  yield {
    sql: `insert into @traces (trace_id, stale) values ${ids.map(() => '(?, 1)').join(', ')}
      on conflict (trace_id) do update set stale = 1 where traces.stale is null or traces.stale <> 1`,
    values: ids,
  };
}

/** Notes that feedback about calls has changed, by its references. */
export function* markTracesOf(references: readonly unknown[]): QuerySequence<void> {
  const calls = [...new Set(references)].flatMap((reference) => {
    const [, project, id] = /^svc:\/\/\/(.+)\/call\/([^/]+)$/.exec(String(reference)) ?? [];
    return project && id ? [project, id] : [];
  });
  if (calls.length === 0) return;
  const marks = Array(calls.length / 2).fill('(?, ?)');
  yield {
    sql: `update @traces set stale = 1 where trace_id in (select trace_id from @calls where (project_id, id) in (values ${marks.join(', ')}))`,
    values: calls,
  };
}

// A commit blocks an embedded database for as long as its traces take.
const TRACES_PER_COMMIT = 200;

// A call without a parent, else the first call whose parent is not there, else the first call.
const ROOT_RANK = `case when calls.parent_id is null then 0 when not exists (select 1 from @calls as parents
  where parents.project_id = calls.project_id and parents.id = calls.parent_id and parents.trace_id = calls.trace_id)
  then 1 else 2 end`;

const MADE_COLUMNS = ['started_ms', 'duration_ms', 'calls', 'failed', 'root_project', 'root_id'];

const { sql: RANKED_CALLS } = select(
  { trace_id: 'calls.trace_id', ...CALL_COLUMNS, root_rank: ROOT_RANK },
  'from @traces as made join @calls as calls on calls.trace_id = made.trace_id where made.stale = 2',
  [],
);

// Duration and failures as of the calls. The end of a call without one is its start; for a trace of such calls, it is -1.
const MAKE_TRACES = `insert into @traces (trace_id, ${MADE_COLUMNS.join(', ')})
  select trace_id, min(started_ms), case when count(duration_ms) = 0 then -1
      when max(started_ms + coalesce(duration_ms, 0)) - min(started_ms) > max(duration_ms)
      then max(started_ms + coalesce(duration_ms, 0)) - min(started_ms) else max(duration_ms) end,
    count(*), sum(failed), max(case when place = 1 then project_id end), max(case when place = 1 then id end)
  from (select ranked.*, row_number() over (partition by trace_id order by root_rank, started_ms, id) as place
    from (${RANKED_CALLS}) as ranked) as placed
  group by trace_id
  on conflict (trace_id) do update set stale = null, ${MADE_COLUMNS.map((name) => `${name} = excluded.${name}`).join(', ')}`;

interface TraceStore {
  readonly readRows: (query: RowQuery) => Promise<readonly unknown[]>;
  readonly commit: (queries: () => QuerySequence<number>) => Promise<number>;
}

/** Makes the traces that have changed; those without calls are removed. */
export async function makeTraces({ readRows, commit }: TraceStore): Promise<void> {
  const [first] = await readRows({ sql: 'select 1 from @traces where stale = 1 limit 1', values: [] });
  for (let count = first ? TRACES_PER_COMMIT : 0; count === TRACES_PER_COMMIT; await yieldToEventLoop(undefined))
    count = await commit(function* () {
      const marked = yield {
        sql: `update @traces set stale = 2 where trace_id in (
          select trace_id from @traces where stale = 1 limit ${TRACES_PER_COMMIT}) returning 1 as marked`,
        values: [],
      };
      yield { sql: MAKE_TRACES, values: [] };
      yield { sql: 'delete from @traces where stale = 2', values: [] };
      return marked.length;
    });
}

const MAKE_DELAY_MS = 500;

/** Makes traces soon after writes, so that the first view of the page finds them. */
export function createTraceMaker(store: TraceStore, after: StartTimer) {
  let cancel: (() => void) | undefined;
  const make = (): void => {
    const end = (): void => {
      cancel = undefined;
    };
    // The page makes those that could not be made here.
    makeTraces(store).then(end, end);
  };
  return {
    onWrite: (): void => {
      cancel ??= after(MAKE_DELAY_MS, make);
    },
    close: () => cancel?.(),
  };
}

const ROWS_PER_STEP = 250;

/** Fills the columns of the facts in the rows that an earlier version of svc has stored. */
export function* fillFacts(): QuerySequence<void> {
  yield* fillTable('calls', 'start', (start, row) => callFacts(start, String(row.id), Number(row.created_at)));
  yield* fillTable('feedback', 'payload', feedbackFacts);
}

function* fillTable(
  table: string,
  column: 'start' | 'payload',
  factsOf: (node: JsonNode, row: StoredRow<'id' | 'created_at'>) => RowValues,
): QuerySequence<void> {
  const from = `from @${table} where seq > ? order by seq limit ${ROWS_PER_STEP}`;
  const columns = { seq: 'seq', id: 'id', body: column, created_at: 'created_at' };
  for (let after = 0, count = -1; count !== 0; ) {
    const rows = yield* rowsOf(select(columns, from, [after]));
    [after, count] = [Number(rows.at(-1)?.seq ?? after), rows.length];
    for (const row of rows) {
      const node = tryParseJson(Buffer.from(String(row.body)));
      if (node) yield setColumns(table, factsOf(node, row), 'seq = ?', [Number(row.seq)]);
    }
  }
}
