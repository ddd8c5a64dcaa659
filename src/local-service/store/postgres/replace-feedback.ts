import type { FeedbackRecord } from '../service-store.ts';
import type { PostgresClient, PostgresDatabase } from './postgres-database.ts';

/** Replaces feedback records in order, all of them or none. */
export async function replaceFeedbackRecords(
  records: readonly FeedbackRecord[],
  database: PostgresDatabase,
): Promise<true[]> {
  await database.transaction(async (client) => {
    for (const group of independentGroups(records)) await replaceGroup(group, client);
  });
  return records.map(() => true);
}

// Within a group no record removes or replaces another, so the order of its statements does not matter.
function independentGroups(records: readonly FeedbackRecord[]): FeedbackRecord[][] {
  const groups: FeedbackRecord[][] = [];
  let stored = new Set<string>();
  let removed = new Set<string>();
  for (const record of records) {
    const { project, id, replacedId } = record;
    const [key, replacedKey] = [JSON.stringify([project, id]), JSON.stringify([project, replacedId])];
    const isDependent = stored.has(key) || stored.has(replacedKey) || removed.has(key);
    if (groups.length === 0 || isDependent) {
      groups.push([]);
      [stored, removed] = [new Set(), new Set()];
    }
    groups.at(-1)?.push(record);
    stored.add(key);
    removed.add(replacedKey);
  }
  return groups;
}

async function replaceGroup(records: readonly FeedbackRecord[], client: PostgresClient): Promise<void> {
  const projects = records.map(({ project }) => project);
  const ids = records.map(({ id }) => id);
  await client`
    delete from svc.feedback using unnest(
      ${[...projects, ...projects]}::text[], ${[...ids, ...records.map(({ replacedId }) => replacedId)]}::text[]
    ) as gone (project, id)
    where svc.feedback.project_id = gone.project and svc.feedback.id = gone.id`;
  await client`
    insert into svc.feedback
      (project_id, id, feedback_type, trigger_ref, svc_ref, payload, record, svc_user_id, created_at)
    select * from unnest(
      ${projects}::text[],
      ${ids}::text[],
      ${records.map(({ type }) => type)}::text[],
      ${records.map(({ trigger }) => trigger)}::text[],
      ${records.map(({ ref }) => ref)}::text[],
      ${records.map(({ payload }) => payload)}::text[],
      ${records.map(({ record }) => record)}::text[],
      ${records.map(({ user }) => user)}::text[],
      ${records.map(({ createdAt }) => createdAt)}::bigint[])
    on conflict (project_id, id) do update set
      seq = excluded.seq, feedback_type = excluded.feedback_type, trigger_ref = excluded.trigger_ref,
      svc_ref = excluded.svc_ref, payload = excluded.payload, record = excluded.record, svc_user_id = excluded.svc_user_id,
      created_at = excluded.created_at`;
}
