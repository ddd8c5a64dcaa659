import type { ExchangeSignal } from '../../http/message.ts';
import { yieldToEventLoop } from '../event-loop.ts';
import { createGroupCommit } from './group-commit.ts';
import { mergeCallStart } from './merge-call.ts';
import type { Store } from './open-store.ts';
import { type QuerySequence, samplePayloads } from './payload-sample.ts';
import type { CallRecord, FeedbackRecord, JobRecord, RowQuery, ServiceStore, StoredRow } from './service-store.ts';
import type { StagedTrajectory } from './staging-file.ts';
import { deleteTrajectories, saveTrajectories } from './trajectory-rows.ts';

/** The store of the local service in an embedded database. */
export function createEmbeddedStore(database: Store): ServiceStore {
  const commit = createGroupCommit(database);
  return {
    saveCall: (call, signal) => commit(() => saveCall(call, database), signal),
    replaceFeedback: (record, signal) => commit(() => replaceFeedback(record, database), signal),
    samplePayloads: async (query) => database.snapshot(() => runQueries(samplePayloads(query), database)),
    saveJob: (job, trajectories, signal) => saveJob(job, trajectories, signal, database),
    saveChat: async ({ id, request, response, status, createdAt, durationMs }) => {
      const insert = 'insert into chats values (?, ?, ?, ?, ?, ?)';
      await commit(() => database.run(insert, id, request, response, status, createdAt, durationMs), undefined);
    },
    readRows: async (query) => readRows(query, database),
    checkHealth: async () => database.transaction(() => {}),
    close: async () => database.close(),
  };
}

function readRows({ sql, values }: RowQuery, database: Store): readonly StoredRow[] {
  return database.all(sql.replaceAll('@', ''), ...values);
}

/** The result of queries in an embedded database. */
export function runQueries<Result>(queries: QuerySequence<Result>, database: Store): Result {
  let step = queries.next([]);
  while (!step.done) step = queries.next(readRows(step.value, database));
  return step.value;
}

function saveCall({ project, id, traceId, newTraceId, start, createdAt }: CallRecord, database: Store): string {
  const isNew = database.run(
    'insert into calls (project_id, id, trace_id, start, created_at) values (?, ?, ?, ?, ?) on conflict do nothing',
    ...[project, id, traceId ?? newTraceId, start, createdAt],
  );
  if (isNew) return traceId ?? newTraceId;
  const existing = database.first('select trace_id, start from calls where project_id = ? and id = ?', project, id);
  const finalTraceId = traceId ?? String(existing?.trace_id);
  const merged = mergeCallStart(String(existing?.start), start);
  const update = 'update calls set trace_id = ?, start = ? where project_id = ? and id = ?';
  database.run(update, finalTraceId, merged, project, id);
  return finalTraceId;
}

function replaceFeedback(feedback: FeedbackRecord, database: Store): void {
  const { project, id, replacedId, type, trigger, ref, payload, record, user, createdAt } = feedback;
  database.run('delete from feedback where project_id = ? and id in (?, ?)', project, replacedId, id);
  database.run(
    'insert into feedback (project_id, id, feedback_type, trigger_ref, svc_ref, payload, record, svc_user_id, created_at) values (?, ?, ?, ?, ?, ?, ?, ?, ?)',
    ...[project, id, type, trigger, ref, payload, record, user, createdAt],
  );
}

// The row of the job comes last, so that trajectories without one belong to a job that was not stored.
async function saveJob(
  { id, modelId, config, createdAt }: JobRecord,
  trajectories: () => Iterable<StagedTrajectory>,
  signal: ExchangeSignal | undefined,
  database: Store,
): Promise<void> {
  try {
    await saveTrajectories(id, trajectories(), signal, database);
    const insert = 'insert into jobs (id, model_id, experimental_config, created_at) values (?, ?, ?, ?)';
    database.transaction(() => database.run(insert, id, modelId, config, createdAt));
  } catch (error) {
    // If even that fails, the next start of the service removes them.
    await deleteTrajectories(id, database).catch(() => {});
    throw error;
  }
  await yieldToEventLoop(undefined);
}
