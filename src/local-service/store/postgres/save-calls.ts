import { mergeCallStart } from '../merge-call.ts';
import type { CallRecord } from '../service-store.ts';
import type { PostgresClient, PostgresDatabase } from './postgres-database.ts';

/** Stores calls, each new or merged into the stored one with its id; returns their trace ids in order. */
export async function saveCalls(calls: readonly CallRecord[], database: PostgresDatabase): Promise<string[]> {
  // Sorted, so that two services lock rows in the same order.
  const firstOfKey = new Map([...calls].reverse().map((call) => [callKey(call), call]));
  const candidates = [...firstOfKey.values()].sort((left, right) => (callKey(left) < callKey(right) ? -1 : 1));
  const inserted = await database.query((client) => insertNewCalls(candidates, client));
  const traceIds = new Map<CallRecord, string>();
  for (const call of calls) {
    const isNew = firstOfKey.get(callKey(call)) === call && inserted.has(callKey(call));
    traceIds.set(
      call,
      isNew ? (call.traceId ?? call.newTraceId) : await database.transaction((client) => mergeCall(call, client)),
    );
  }
  return calls.map((call) => traceIds.get(call) ?? call.newTraceId);
}

function callKey({ project, id }: Pick<CallRecord, 'project' | 'id'>): string {
  return JSON.stringify([project, id]);
}

async function insertNewCalls(calls: readonly CallRecord[], client: PostgresClient): Promise<ReadonlySet<string>> {
  const rows = await client`
    insert into svc.calls (project_id, id, trace_id, start, created_at)
    select * from unnest(
      ${calls.map(({ project }) => project)}::text[],
      ${calls.map(({ id }) => id)}::text[],
      ${calls.map(({ traceId, newTraceId }) => traceId ?? newTraceId)}::text[],
      ${calls.map(({ start }) => start)}::text[],
      ${calls.map(({ createdAt }) => createdAt)}::bigint[])
    on conflict (project_id, id) do nothing
    returning project_id, id`;
  return new Set(rows.map((row) => callKey({ project: String(row.project_id), id: String(row.id) })));
}

async function mergeCall({ project, id, traceId, start }: CallRecord, client: PostgresClient): Promise<string> {
  const [stored] = await client`
    select trace_id, start from svc.calls where project_id = ${project} and id = ${id} for update`;
  const finalTraceId = traceId ?? String(stored?.trace_id);
  const merged = mergeCallStart(String(stored?.start), start);
  await client`
    update svc.calls set trace_id = ${finalTraceId}, start = ${merged} where project_id = ${project} and id = ${id}`;
  return finalTraceId;
}
