import type { ExchangeSignal } from '../../http/message.ts';
import { yieldToEventLoop } from '../event-loop.ts';
import type { Store } from './open-store.ts';
import { replaceFeedback, saveCalls } from './record-queries.ts';
import {
  insertRows,
  type JobRow,
  type QuerySequence,
  type RowQuery,
  type ServiceStore,
  type StagedTrajectory,
} from './service-store.ts';
import { createGroupCommit } from './shared-batches.ts';

export function createEmbeddedStore(database: Store): ServiceStore {
  const groupCommit = createGroupCommit(database);
  const commit = <T>(queries: () => QuerySequence<T>, signal?: ExchangeSignal): Promise<T> =>
    groupCommit(() => runQueries(queries(), database), signal);
  return {
    saveCall: async (call, signal) => (await commit(() => saveCalls([call]), signal)).join(),
    replaceFeedback: (feedback, signal) => commit(() => replaceFeedback([feedback]), signal),
    commit,
    snapshot: async (queries) => database.snapshot(() => runQueries(queries(), database)),
    readRows: async (query) => readRows(query, database),
    saveJob: (job, trajectories, signal) => saveJob(job, trajectories, signal, database),
    checkHealth: async () => database.transaction(() => {}),
    close: async () => database.close(),
  };
}

function readRows({ sql, values }: RowQuery, database: Store) {
  return database.all(sql.replaceAll('@', ''), ...values);
}

export function runQueries<Result>(queries: QuerySequence<Result>, database: Store): Result {
  let step = queries.next([]);
  while (!step.done) step = queries.next(readRows(step.value, database));
  return step.value;
}

// The row of the job comes last, so that trajectories without one belong to a job that was not stored.
async function saveJob(
  job: JobRow,
  trajectories: () => Iterable<StagedTrajectory>,
  signal: ExchangeSignal | undefined,
  database: Store,
): Promise<void> {
  try {
    await saveTrajectories(job.id, trajectories(), signal, database);
    database.transaction(() => runQueries(insertRows('jobs', [job]), database));
  } catch (error) {
    // If even that fails, the next start of the service removes them.
    await deleteTrajectories(job.id, database).catch(() => {});
    throw error;
  }
  await yieldToEventLoop(undefined);
}

// One transaction blocks the process for as long as its bytes take to reach the disk.
const MAX_TRANSACTION_BYTES = 1024 * 1024;
// From its first byte to its response; with fewer in between, a request would wait for several transactions.
const TURNS_OF_REQUEST = 16;
const MAX_SAVED_ROWS = 2000;
const MAX_DELETED_ROWS = 256;

// A service that is still receiving a job has a younger one.
const MAX_UPLOAD_MS = 24 * 60 * 60 * 1000;

export async function saveTrajectories(
  jobId: string,
  trajectories: Iterable<StagedTrajectory>,
  signal: ExchangeSignal | undefined,
  database: Store,
): Promise<void> {
  const rows = trajectories[Symbol.iterator]();
  for (let next = rows.next(); !next.done; ) {
    for (let turn = 0; turn < TURNS_OF_REQUEST; turn++) await yieldToEventLoop(signal);
    database.transaction(() => {
      let bytes = 0;
      for (let count = 0; !next.done && bytes < MAX_TRANSACTION_BYTES && count < MAX_SAVED_ROWS; count++) {
        const { group, index, bytes: trajectory } = next.value;
        database.run('insert into trajectories values (?, ?, ?, ?)', jobId, group, index, trajectory);
        bytes += trajectory.length;
        next = rows.next();
      }
    });
  }
}

async function deleteTrajectories(jobId: string, database: Store): Promise<void> {
  const query = 'select rowid as id, length(trajectory) as bytes from trajectories where job_id = ? limit ?';
  const deleteSome = (): boolean => {
    const rows = database.all(query, jobId, MAX_DELETED_ROWS);
    let bytes = 0;
    for (const row of rows) {
      database.run('delete from trajectories where rowid = ?', row.id ?? null);
      bytes += Number(row.bytes);
      if (bytes >= MAX_TRANSACTION_BYTES) break;
    }
    return rows.length > 0;
  };
  while (database.transaction(deleteSome)) await yieldToEventLoop(undefined);
}

/** Removes the trajectories of jobs whose service ended before they were stored completely. */
export async function deleteAbandonedTrajectories(now: number, database: Store): Promise<void> {
  // A UUIDv7 begins with its time. Each step is one search in the index, however many trajectories a job has.
  const oldest = (now - MAX_UPLOAD_MS).toString(16).padStart(12, '0');
  const rows = database.all(
    `with recursive ids (id) as (
       select min(job_id) from trajectories
       union all select (select min(job_id) from trajectories where job_id > id) from ids where id is not null
     ) select id from ids where id < ? and id not in (select id from jobs)`,
    `${oldest.slice(0, 8)}-${oldest.slice(8)}`,
  );
  for (const { id } of rows) if (typeof id === 'string') await deleteTrajectories(id, database);
}
