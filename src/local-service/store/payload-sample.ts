import { type QuerySequence, type RowQuery, rowsOf, type StoredRow, select } from './row-query.ts';

export interface PayloadQuery {
  readonly project: string;
  /** The window in milliseconds since 1970: start inclusive, end exclusive. */
  readonly window: readonly [start: number, end: number];
  readonly type: string | undefined;
  readonly trigger: { readonly ref: string; readonly isPrefix: boolean } | undefined;
  readonly limit: number;
}

const SAMPLE_COLUMNS = ['seq', 'trigger_ref', 'created_at'] as const;
type Sample = StoredRow<(typeof SAMPLE_COLUMNS)[number]>;

// Rows read per requested trigger before the index is walked from trigger to trigger.
const ROWS_PER_TRIGGER = 2;
// A fixed number, so that there is one statement.
const PAYLOADS_PER_QUERY = 256;

/**
 * The newest payload of each trigger, newest triggers first; rows without a trigger count as one trigger. The cost grows with
 * the limit; if the newest rows have too few triggers, it grows with the number of triggers.
 */
export function* samplePayloads(query: PayloadQuery): QuerySequence<string[]> {
  const limit = query.trigger?.isPrefix === false ? 1 : query.limit;
  const newest = yield* newestRows(query, limit * ROWS_PER_TRIGGER);
  const sample = newestPerTrigger(newest.filter((row) => matchesTrigger(row.trigger_ref, query.trigger)));
  const isComplete = sample.length >= limit || newest.length < limit * ROWS_PER_TRIGGER;
  const rows = isComplete ? sample : newestPerTrigger(yield* newestRowsByTrigger(query, limit));
  return yield* readPayloads(query.project, rows.slice(0, limit));
}

function* newestRows({ project, type, window }: PayloadQuery, count: number): QuerySequence<readonly Sample[]> {
  const from = `from @feedback
    where project_id = ? ${type === undefined ? '' : 'and feedback_type = ?'} and created_at >= ? and created_at < ?
    order by created_at desc, seq desc limit ?`;
  return yield* rowsOf(select(SAMPLE_COLUMNS, from, [project, type ?? [], ...window, count].flat()));
}

function matchesTrigger(found: unknown, wanted: PayloadQuery['trigger']): boolean {
  if (!wanted?.isPrefix) return !wanted || found === wanted.ref;
  return typeof found === 'string' && found.startsWith(wanted.ref);
}

function newestPerTrigger(rows: readonly Sample[]): Sample[] {
  const seen = new Set<unknown>();
  return rows.filter(({ trigger_ref: trigger }) => !seen.has(trigger) && seen.add(trigger));
}

function* newestRowsByTrigger(query: PayloadQuery, limit: number): QuerySequence<Sample[]> {
  const rows: Sample[] = [];
  for (const type of query.type === undefined ? yield* feedbackTypes(query.project) : [query.type])
    rows.push(...(yield* newestRowsOfType(query, type, limit)));
  return rows.sort(
    (left, right) => Number(right.created_at) - Number(left.created_at) || Number(right.seq) - Number(left.seq),
  );
}

// From each type to the next one in the index, whatever is between them.
function* feedbackTypes(project: string): QuerySequence<string[]> {
  const rows = yield* rowsOf({
    columns: ['type'],
    sql: `with recursive types (type) as (
        select min(feedback_type) from @feedback where project_id = ?
        union all
        select (select min(feedback_type) from @feedback where project_id = ? and feedback_type > types.type)
        from types where types.type is not null
      ) select type from types where type is not null`,
    values: [project, project],
  });
  return rows.map(({ type }) => String(type));
}

// From each trigger to the next one in the index, however many rows each has; then the rows without a trigger.
function* newestRowsOfType(
  { project, trigger, window }: PayloadQuery,
  type: string,
  limit: number,
): QuerySequence<Sample[]> {
  const condition = triggerCondition(trigger);
  const next = `select min(trigger_ref) from @feedback where project_id = ? and feedback_type = ? and ${condition.sql}`;
  const newest = (column: string, ref: string): string =>
    `select ${column} from @feedback
     where project_id = ? and feedback_type = ? and trigger_ref ${ref} and created_at >= ? and created_at < ?
     order by created_at desc, seq desc limit 1`;
  const ofTrigger = [project, type, ...window];
  const withTrigger = yield* rowsOf({
    columns: SAMPLE_COLUMNS,
    sql: `with recursive triggers (ref) as (
        ${next} union all select (${next} and trigger_ref > triggers.ref) from triggers where triggers.ref is not null
      ), found as materialized (
        select ref as trigger_ref, (${newest('seq', '= ref')}) as seq, (${newest('created_at', '= ref')}) as created_at
        from triggers where ref is not null
      ) select seq, trigger_ref, created_at from found where seq is not null order by created_at desc, seq desc limit ?`,
    values: [
      ...[project, type, ...condition.values, project, type, ...condition.values],
      ...[...ofTrigger, ...ofTrigger, limit],
    ],
  });
  const untriggered = { columns: SAMPLE_COLUMNS, sql: newest(SAMPLE_COLUMNS.join(', '), 'is null'), values: ofTrigger };
  const without = trigger ? [] : yield* rowsOf(untriggered);
  return [...withTrigger, ...without];
}

function triggerCondition(trigger: PayloadQuery['trigger']): RowQuery {
  if (!trigger) return { sql: 'trigger_ref is not null', values: [] };
  const { ref, isPrefix } = trigger;
  if (!isPrefix) return { sql: 'trigger_ref = ?', values: [ref] };
  // A semicolon follows the colon in character order, so this index range contains exactly the refs with the prefix.
  return { sql: '(trigger_ref >= ? and trigger_ref < ?)', values: [ref, `${ref.slice(0, -1)};`] };
}

// Found by their times in an index. With `seq` itself an embedded database would look up each time with each number.
function* readPayloads(project: string, rows: readonly Sample[]): QuerySequence<string[]> {
  const payloads: string[] = [];
  const marks = Array(PAYLOADS_PER_QUERY).fill('?').join(', ');
  for (let at = 0; at < rows.length; at += PAYLOADS_PER_QUERY) {
    const wanted = Array.from({ length: PAYLOADS_PER_QUERY }, (_, next) => rows[at + next] ?? rows[at]);
    const from = `from @feedback where project_id = ? and created_at in (${marks}) and seq + 0 in (${marks})`;
    const [times, numbers] = (['created_at', 'seq'] as const).map((name) => wanted.map((row) => Number(row?.[name])));
    const found = yield* rowsOf(select(['payload'], from, [project, ...(times ?? []), ...(numbers ?? [])]));
    payloads.push(...found.map(({ payload }) => String(payload)));
  }
  return payloads;
}
