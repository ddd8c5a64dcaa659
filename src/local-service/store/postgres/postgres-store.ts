import { Buffer } from 'node:buffer';
import type { PostgresAddress } from '../../../config/postgres-address.ts';
import { errorMessage, Failure } from '../../../errors.ts';
import type { ExchangeSignal } from '../../../http/message.ts';
import { samplePayloads } from '../payload-sample.ts';
import {
  type CallRecord,
  type FeedbackRecord,
  type JobRecord,
  mergeCallStart,
  type RowQuery,
  type ServiceStore,
  type StoredRow,
  StoreError,
} from '../service-store.ts';
import { createSharedBatches } from '../shared-batches.ts';
import type { StagedTrajectory } from '../staging-file.ts';
import { openPostgresDatabase, type PostgresClient, type PostgresDatabase } from './postgres-database.ts';
import { createPostgresTables } from './postgres-schema.ts';

/** Opens the store of the local service in a PostgreSQL database. Throws Failure `local_file` if it cannot be used. */
export async function openPostgresStore(address: PostgresAddress, password: string | undefined): Promise<ServiceStore> {
  const database = openPostgresDatabase(address, password);
  try {
    await createPostgresTables(database, address.label);
  } catch (error) {
    await database.close();
    if (error instanceof Failure) throw error;
    const reason = errorMessage(error);
    throw new Failure(
      'local_file',
      reason.includes(address.label) ? reason : `cannot open ${address.label}: ${reason}`,
      { hint: 'check that the database runs, and set PGPASSWORD or PGPASSFILE if it asks for a password' },
    );
  }
  const saveCall = createSharedBatches<CallRecord, string>(
    (calls) => saveCalls(calls, database),
    ({ start }) => start.length,
  );
  const replaceFeedback = createSharedBatches<FeedbackRecord, true>(
    (records) => replaceFeedbackRecords(records, database),
    ({ record, payload }) => record.length + payload.length,
  );
  return {
    saveCall,
    replaceFeedback: async (record, signal) => void (await replaceFeedback(record, signal)),
    removeRows: (query) => database.query(async (client) => (await runRowQuery(query, client)).count),
    samplePayloads: (query) =>
      database.transaction(async (client) => {
        await client`set transaction isolation level repeatable read, read only`;
        const queries = samplePayloads(query);
        let step = queries.next([]);
        while (!step.done) step = queries.next(await readRows(step.value, client));
        return step.value;
      }),
    saveJob: (job, trajectories, signal) => savePostgresJob(job, trajectories, signal, database),
    saveChat: ({ id, request, response, status, createdAt, durationMs }) =>
      database.query(
        async (client) =>
          void (await client`insert into svc.chats
            values (${id}, ${request}, ${response}, ${status}, ${createdAt}, ${durationMs})`),
      ),
    readRows: (query) => database.query((client) => readRows(query, client)),
    checkHealth: () => checkPostgresHealth(database, address.label),
    close: database.close,
  };
}

async function readRows(query: RowQuery, client: PostgresClient): Promise<readonly StoredRow[]> {
  return runRowQuery(query, client);
}

function runRowQuery({ sql, values }: RowQuery, client: PostgresClient) {
  let count = 0;
  const text = sql.replaceAll('@', 'svc.').replaceAll('?', () => `$${++count}`);
  return client.unsafe(text, [...values]);
}

async function checkPostgresHealth(database: PostgresDatabase, label: string): Promise<void> {
  const [row] = await database.query(async (client) => client`show transaction_read_only`);
  if (row?.transaction_read_only === 'on') throw new StoreError('lost', `the database at ${label} is read-only`);
}

/** Stores calls, each new or merged into the stored one with its id; returns their trace ids in order. */
async function saveCalls(calls: readonly CallRecord[], database: PostgresDatabase): Promise<string[]> {
  // Sorted, so that two services lock rows in the same order.
  const firstOfKey = new Map([...calls].reverse().map((call) => [rowKey(call), call]));
  const candidates = [...firstOfKey.values()].sort((left, right) => (rowKey(left) < rowKey(right) ? -1 : 1));
  const inserted = await database.query((client) => insertNewCalls(candidates, client));
  const traceIds = new Map<CallRecord, string>();
  for (const call of calls) {
    const isNew = firstOfKey.get(rowKey(call)) === call && inserted.has(rowKey(call));
    traceIds.set(
      call,
      isNew ? (call.traceId ?? call.newTraceId) : await database.transaction((client) => mergeCall(call, client)),
    );
  }
  return calls.map((call) => traceIds.get(call) ?? call.newTraceId);
}

function rowKey({ project, id }: Pick<CallRecord, 'project' | 'id'>): string {
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
  return new Set(rows.map((row) => rowKey({ project: String(row.project_id), id: String(row.id) })));
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

async function replaceFeedbackRecords(records: readonly FeedbackRecord[], database: PostgresDatabase): Promise<true[]> {
  // Those that no later record of the batch removes.
  const kept = new Map<string, FeedbackRecord>();
  for (const record of records) {
    const { project, id, replacedId } = record;
    for (const removedId of [replacedId, id]) kept.delete(rowKey({ project, id: removedId }));
    kept.set(rowKey(record), record);
  }
  const removedIds = records.flatMap(({ id, replacedId }) => [id, replacedId]);
  const removedProjects = records.flatMap(({ project }) => [project, project]);
  const column = <T>(read: (record: FeedbackRecord) => T): T[] => Array.from(kept.values(), read);
  await database.transaction(async (client) => {
    await client`
      delete from svc.feedback using unnest(${removedProjects}::text[], ${removedIds}::text[]) as gone (project, id)
      where svc.feedback.project_id = gone.project and svc.feedback.id = gone.id`;
    await client`
      insert into svc.feedback
        (project_id, id, feedback_type, trigger_ref, svc_ref, payload, record, svc_user_id, created_at)
      select * from unnest(
        ${column(({ project }) => project)}::text[],
        ${column(({ id }) => id)}::text[],
        ${column(({ type }) => type)}::text[],
        ${column(({ trigger }) => trigger)}::text[],
        ${column(({ ref }) => ref)}::text[],
        ${column(({ payload }) => payload)}::text[],
        ${column(({ record }) => record)}::text[],
        ${column(({ user }) => user)}::text[],
        ${column(({ createdAt }) => createdAt)}::bigint[])
      on conflict (project_id, id) do update set
        seq = excluded.seq, feedback_type = excluded.feedback_type, trigger_ref = excluded.trigger_ref,
        svc_ref = excluded.svc_ref, payload = excluded.payload, record = excluded.record, svc_user_id = excluded.svc_user_id,
        created_at = excluded.created_at`;
  });
  return records.map(() => true);
}

const MAX_INSERT_BYTES = 1024 * 1024;
const MAX_INSERT_ROWS = 500;

async function savePostgresJob(
  job: JobRecord,
  trajectories: () => Iterable<StagedTrajectory>,
  signal: ExchangeSignal | undefined,
  database: PostgresDatabase,
): Promise<void> {
  await database.transaction(async (client) => {
    await client`
      insert into svc.jobs (id, model_id, experimental_config, created_at)
      values (${job.id}, ${job.modelId}, ${job.config}, ${job.createdAt})`;
    for (const rows of trajectoryBatches(trajectories())) {
      signal?.throwIfAborted();
      const [groups, indexes, texts] = [
        rows.map(([group]) => group),
        rows.map(([, index]) => index),
        rows.map(([, , text]) => text),
      ];
      await client`
        insert into svc.trajectories (job_id, group_index, trajectory_index, trajectory)
        select ${job.id}::text, * from unnest(${groups}::integer[], ${indexes}::integer[], ${texts}::text[])`;
    }
  });
}

type TrajectoryRow = readonly [group: number, index: number, text: string];

function* trajectoryBatches(trajectories: Iterable<StagedTrajectory>): Generator<readonly TrajectoryRow[]> {
  let rows: TrajectoryRow[] = [];
  let bytes = 0;
  for (const { group, index, bytes: trajectory } of trajectories) {
    rows.push([group, index, Buffer.from(trajectory.buffer, trajectory.byteOffset, trajectory.length).toString()]);
    bytes += trajectory.length;
    if (bytes < MAX_INSERT_BYTES && rows.length < MAX_INSERT_ROWS) continue;
    yield rows;
    [rows, bytes] = [[], 0];
  }
  if (rows.length > 0) yield rows;
}
