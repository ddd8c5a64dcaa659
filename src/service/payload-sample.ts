import type { Row, Store, Value } from './store.ts';

/** Which payloads are wanted. */
export interface Wanted {
  readonly project: string;
  /** The window in milliseconds since 1970: the first that is in it, and the first that is not. */
  readonly window: readonly [start: number, end: number];
  readonly type: string | undefined;
  /** The trigger, or the beginning of several, which ends in a colon. */
  readonly trigger: { readonly ref: string; readonly isPrefix: boolean } | undefined;
  /** How many triggers at most. */
  readonly limit: number;
}

// Rows looked at for each trigger that is wanted, before all triggers are.
const ROWS = 2;

/**
 * The newest payload of each trigger, those of the newest triggers; what has no trigger is one, too. What was stored
 * later is newer within the same millisecond. The cost grows with the limit: where the newest rows have not enough
 * triggers it is because there are few, and then it grows with the number of triggers.
 */
export function samplePayloads(wanted: Wanted, store: Store): string[] {
  const limit = wanted.trigger?.isPrefix === false ? 1 : wanted.limit;
  return store.snapshot(() => {
    const rows = newestRows(wanted, limit * ROWS, store);
    const sample = newestOfEach(rows.filter(({ fits }) => fits === 1));
    const isAll = sample.length >= limit || rows.length < limit * ROWS;
    return payloadsOf((isAll ? sample : newestOfEach(rowsByTrigger(wanted, limit, store))).slice(0, limit), store);
  });
}

function newestRows({ project, type, trigger, window }: Wanted, count: number, store: Store): Row[] {
  const fits = fitting(trigger);
  return store.all(
    `select seq, trigger_ref, ${fits.sql} as fits from feedback
     where project_id = ? ${type === undefined ? '' : 'and feedback_type = ?'} and created_at >= ? and created_at < ?
     order by created_at desc, seq desc limit ?`,
    ...[...fits.values, project, ...(type === undefined ? [] : [type]), ...window, count],
  );
}

// The first row of each trigger.
function newestOfEach(rows: readonly Row[]): Row[] {
  const seen = new Set<Value | undefined>();
  return rows.filter(({ trigger_ref: trigger }) => !seen.has(trigger) && seen.add(trigger));
}

function rowsByTrigger(wanted: Wanted, limit: number, store: Store): Row[] {
  const types = wanted.type === undefined ? typesIn(wanted.project, store) : [wanted.type];
  return types
    .flatMap((type) => newestRowsOfType(wanted, type, limit, store))
    .sort((left, right) => Number(right.created_at) - Number(left.created_at) || Number(right.seq) - Number(left.seq));
}

// From each type to the next one in the index, whatever is between them.
function typesIn(project: string, store: Store): string[] {
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
function newestRowsOfType({ project, trigger, window }: Wanted, type: string, limit: number, store: Store): Row[] {
  const fits = fitting(trigger);
  const next = `select min(trigger_ref) from feedback where project_id = ? and feedback_type = ? and ${fits.sql}`;
  return store.all(
    `with recursive triggers (ref) as (
       ${next} union all select (${next} and trigger_ref > ref) from triggers where ref is not null
     )
     select seq, trigger_ref, created_at from triggers join feedback on seq = (
       select seq from feedback
       where project_id = ? and feedback_type = ? and trigger_ref is ref and created_at >= ? and created_at < ?
       order by created_at desc, seq desc limit 1)
     where ${fits.sql} order by created_at desc, seq desc limit ?`,
    ...[project, type, ...fits.values, project, type, ...fits.values],
    ...[project, type, ...window, ...fits.values, limit],
  );
}

function fitting(trigger: Wanted['trigger']): { readonly sql: string; readonly values: readonly string[] } {
  if (!trigger) return { sql: '1', values: [] };
  const { ref, isPrefix } = trigger;
  if (!isPrefix) return { sql: 'trigger_ref = ?', values: [ref] };
  // A semicolon is the next character after a colon, so the index has all that begin so, and nothing else, in between.
  return { sql: '(trigger_ref >= ? and trigger_ref < ?)', values: [ref, `${ref.slice(0, -1)};`] };
}

function payloadsOf(rows: readonly Row[], store: Store): string[] {
  const list = JSON.stringify(rows.map(({ seq }) => seq));
  return store
    .all('select payload from feedback where seq in (select value from json_each(?))', list)
    .flatMap(({ payload }) => (typeof payload === 'string' ? [payload] : []));
}
