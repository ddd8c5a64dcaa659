import type { SqlRow, SqlValue, Store } from './open-store.ts';
import type { PayloadQuery } from './payload-query.ts';

// Rows looked at for each trigger that is wanted, before all triggers are.
const ROWS_PER_TRIGGER = 2;

/**
 * The newest payload of each trigger, those of the newest triggers; what has no trigger is one, too. What was stored
 * later is newer within the same millisecond. The cost grows with the limit: where the newest rows have not enough
 * triggers it is because there are few, and then it grows with the number of triggers.
 */
export function samplePayloads(query: PayloadQuery, store: Store): string[] {
  const limit = query.trigger?.isPrefix === false ? 1 : query.limit;
  return store.snapshot(() => {
    const rows = newestRows(query, limit * ROWS_PER_TRIGGER, store);
    const sample = newestPerTrigger(rows.filter(({ fits }) => fits === 1));
    const isComplete = sample.length >= limit || rows.length < limit * ROWS_PER_TRIGGER;
    return readPayloads(
      (isComplete ? sample : newestPerTrigger(newestRowsByTrigger(query, limit, store))).slice(0, limit),
      store,
    );
  });
}

function newestRows({ project, type, trigger, window }: PayloadQuery, count: number, store: Store): SqlRow[] {
  const condition = triggerCondition(trigger);
  return store.all(
    `select seq, trigger_ref, ${condition.sql} as fits from feedback
     where project_id = ? ${type === undefined ? '' : 'and feedback_type = ?'} and created_at >= ? and created_at < ?
     order by created_at desc, seq desc limit ?`,
    ...[...condition.values, project, ...(type === undefined ? [] : [type]), ...window, count],
  );
}

// The first row of each trigger.
function newestPerTrigger(rows: readonly SqlRow[]): SqlRow[] {
  const seen = new Set<SqlValue | undefined>();
  return rows.filter(({ trigger_ref: trigger }) => !seen.has(trigger) && seen.add(trigger));
}

function newestRowsByTrigger(query: PayloadQuery, limit: number, store: Store): SqlRow[] {
  const types = query.type === undefined ? feedbackTypes(query.project, store) : [query.type];
  return types
    .flatMap((type) => newestRowsOfType(query, type, limit, store))
    .sort((left, right) => Number(right.created_at) - Number(left.created_at) || Number(right.seq) - Number(left.seq));
}

// From each type to the next one in the index, whatever is between them.
function feedbackTypes(project: string, store: Store): string[] {
  return store
    .all(
      `with recursive types (type) as (
         select min(feedback_type) from feedback where project_id = ?
         union all
         select (select min(feedback_type) from feedback where project_id = ? and feedback_type > type)
         from types where type is not null
       ) select type from types`,
      ...[project, project],
    )
    .flatMap(({ type }) => (typeof type === 'string' ? [type] : []));
}

// From each trigger to the next one. The last is null: there is no next one, and no trigger is a trigger.
function newestRowsOfType(
  { project, trigger, window }: PayloadQuery,
  type: string,
  limit: number,
  store: Store,
): SqlRow[] {
  const condition = triggerCondition(trigger);
  const next = `select min(trigger_ref) from feedback where project_id = ? and feedback_type = ? and ${condition.sql}`;
  return store.all(
    `with recursive triggers (ref) as (
       ${next} union all select (${next} and trigger_ref > ref) from triggers where ref is not null
     )
     select seq, trigger_ref, created_at from triggers join feedback on seq = (
       select seq from feedback
       where project_id = ? and feedback_type = ? and trigger_ref is ref and created_at >= ? and created_at < ?
       order by created_at desc, seq desc limit 1)
     where ${condition.sql} order by created_at desc, seq desc limit ?`,
    ...[project, type, ...condition.values, project, type, ...condition.values],
    ...[project, type, ...window, ...condition.values, limit],
  );
}

function triggerCondition(trigger: PayloadQuery['trigger']): {
  readonly sql: string;
  readonly values: readonly string[];
} {
  if (!trigger) return { sql: '1', values: [] };
  const { ref, isPrefix } = trigger;
  if (!isPrefix) return { sql: 'trigger_ref = ?', values: [ref] };
  // A semicolon is the next character after a colon, so the index has all that begin so, and nothing else, in between.
  return { sql: '(trigger_ref >= ? and trigger_ref < ?)', values: [ref, `${ref.slice(0, -1)};`] };
}

function readPayloads(rows: readonly SqlRow[], store: Store): string[] {
  const sequences = JSON.stringify(rows.map(({ seq }) => seq));
  return store
    .all('select payload from feedback where seq in (select value from json_each(?))', sequences)
    .flatMap(({ payload }) => (typeof payload === 'string' ? [payload] : []));
}
