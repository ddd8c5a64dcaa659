import type { PayloadQuery } from '../payload-query.ts';
import type { PostgresClient, PostgresDatabase } from './postgres-database.ts';

// Rows read for each wanted trigger, before the index is searched trigger by trigger.
const ROWS_PER_TRIGGER = 2;

interface SampledRow {
  readonly seq: string;
  readonly trigger: string | null;
  readonly createdAt: number;
}

/** The newest payload per trigger, at most `limit`, from one state of the database; those without a trigger count as one. */
export async function samplePostgresPayloads(query: PayloadQuery, database: PostgresDatabase): Promise<string[]> {
  return database.transaction(async (client) => {
    await client`set transaction isolation level repeatable read, read only`;
    const limit = query.trigger?.isPrefix === false ? 1 : query.limit;
    const newest = await newestRows(query, limit * ROWS_PER_TRIGGER, client);
    const sample = newestPerTrigger(newest.rows);
    const isComplete = sample.length >= limit || newest.isAll;
    const rows = isComplete ? sample : newestPerTrigger(await newestRowsByTrigger(query, client));
    const found = await client`
      select payload from svc.feedback where project_id = ${query.project}
      and seq = any(${rows.slice(0, limit).map(({ seq }) => seq)}::bigint[])`;
    return found.map((row) => String(row.payload));
  });
}

async function newestRows(
  { project, type, trigger, window: [start, end] }: PayloadQuery,
  count: number,
  client: PostgresClient,
): Promise<{ rows: SampledRow[]; isAll: boolean }> {
  const rows = await client`
    select seq, trigger_ref, created_at from svc.feedback
    where project_id = ${project} and created_at >= ${start} and created_at < ${end}
      ${type === undefined ? client`` : client`and feedback_type = ${type}`}
    order by created_at desc, seq desc limit ${count}`;
  const isWanted = ({ trigger: ref }: SampledRow): boolean =>
    !trigger || (trigger.isPrefix ? ref?.startsWith(trigger.ref) === true : ref === trigger.ref);
  return { rows: rows.map(toSampledRow).filter(isWanted), isAll: rows.length < count };
}

// From each trigger to the next one in the index, however many rows each has; then the rows without a trigger.
async function newestRowsByTrigger(query: PayloadQuery, client: PostgresClient): Promise<SampledRow[]> {
  const types = query.type === undefined ? await feedbackTypes(query.project, client) : [query.type];
  const rows: SampledRow[] = [];
  for (const type of types) rows.push(...(await newestRowsOfType(query, type, client)));
  return rows.sort(
    (left, right) => right.createdAt - left.createdAt || (BigInt(right.seq) > BigInt(left.seq) ? 1 : -1),
  );
}

async function feedbackTypes(project: string, client: PostgresClient): Promise<string[]> {
  const rows = await client`
    with recursive types (type) as (
      (select min(feedback_type) from svc.feedback where project_id = ${project})
      union all
      select (select min(feedback_type) from svc.feedback where project_id = ${project} and feedback_type > types.type)
      from types where types.type is not null
    ) select type from types where type is not null`;
  return rows.map((row) => String(row.type));
}

async function newestRowsOfType(
  { project, trigger, window: [start, end], limit }: PayloadQuery,
  type: string,
  client: PostgresClient,
): Promise<SampledRow[]> {
  // A semicolon is the character after a colon, so these bounds hold exactly the refs with the prefix.
  const from = trigger?.ref ?? '';
  const bound = trigger
    ? trigger.isPrefix
      ? client`and trigger_ref < ${`${trigger.ref.slice(0, -1)};`}`
      : client`and trigger_ref <= ${trigger.ref}`
    : client``;
  const rowsOf = (condition: ReturnType<typeof bounded>) => client`
    select seq, trigger_ref, created_at from svc.feedback
    where project_id = ${project} and feedback_type = ${type} and ${condition}
      and created_at >= ${start} and created_at < ${end}
    order by created_at desc, seq desc limit 1`;
  const bounded = (text: string) => client.unsafe(text);
  const withTrigger = await client`
    with recursive triggers (ref) as (
      (select min(trigger_ref) from svc.feedback
        where project_id = ${project} and feedback_type = ${type} and trigger_ref >= ${from} ${bound})
      union all
      select (select min(trigger_ref) from svc.feedback
        where project_id = ${project} and feedback_type = ${type} and trigger_ref > triggers.ref ${bound})
      from triggers where triggers.ref is not null
    )
    select found.seq, found.trigger_ref, found.created_at
    from triggers, lateral (${rowsOf(bounded('trigger_ref = triggers.ref'))}) as found
    where triggers.ref is not null
    order by found.created_at desc, found.seq desc limit ${limit}`;
  const withoutTrigger = trigger ? [] : await rowsOf(bounded('trigger_ref is null'));
  return [...withTrigger, ...withoutTrigger].map(toSampledRow);
}

function newestPerTrigger(rows: readonly SampledRow[]): SampledRow[] {
  const seen = new Set<string | null>();
  return rows.filter(({ trigger }) => !seen.has(trigger) && seen.add(trigger));
}

function toSampledRow(row: { readonly [column: string]: unknown }): SampledRow {
  return {
    seq: String(row.seq),
    trigger: typeof row.trigger_ref === 'string' ? row.trigger_ref : null,
    createdAt: Number(row.created_at),
  };
}
