import { Buffer } from 'node:buffer';
import type { PostgresAddress } from '../../../config/postgres-address.ts';
import { errorMessage, Failure } from '../../../errors.ts';
import type { ExchangeSignal } from '../../../http/message.ts';
import { replaceFeedback, saveCalls } from '../record-queries.ts';
import {
  type CallWrite,
  type FeedbackWrite,
  insertRows,
  type JobRow,
  type QuerySequence,
  type RowQuery,
  type RowValues,
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
  const commit = <T>(queries: () => QuerySequence<T>, canRepeat = false): Promise<T> =>
    database.transaction((client) => runQueries(queries(), client), canRepeat);
  return {
    saveCall: createSharedBatches(
      (calls: readonly CallWrite[]) => commit(() => saveCalls(calls), true),
      ({ row }) => row.start.length,
    ),
    replaceFeedback: createSharedBatches(
      (records: readonly FeedbackWrite[]) => commit(() => replaceFeedback(records)),
      ({ row }) => 2 * row.record.length,
    ),
    commit: (queries) => commit(queries),
    snapshot: (queries) =>
      database.transaction(async (client) => {
        await client`set transaction isolation level repeatable read, read only`;
        return runQueries(queries(), client);
      }),
    readRows: (query) => database.query((client) => readRows(query, client)),
    saveJob: (job, trajectories, signal) => savePostgresJob(job, trajectories, signal, database),
    checkHealth: () => checkPostgresHealth(database, address.label),
    close: database.close,
  };
}

async function runQueries<Result>(queries: QuerySequence<Result>, client: PostgresClient): Promise<Result> {
  let step = queries.next([]);
  while (!step.done) step = queries.next(await readRows(step.value, client));
  return step.value;
}

async function readRows({ sql, values }: RowQuery, client: PostgresClient): Promise<readonly StoredRow[]> {
  let count = 0;
  const text = sql.replaceAll('@', 'svc.').replaceAll('?', () => `$${++count}`);
  return client.unsafe(text, [...values]);
}

async function checkPostgresHealth(database: PostgresDatabase, label: string): Promise<void> {
  const [row] = await database.query(async (client) => client`show transaction_read_only`);
  if (row?.transaction_read_only === 'on') throw new StoreError('lost', `the database at ${label} is read-only`);
}

const MAX_INSERT_BYTES = 1024 * 1024;
const MAX_INSERT_ROWS = 500;

async function savePostgresJob(
  job: JobRow,
  trajectories: () => Iterable<StagedTrajectory>,
  signal: ExchangeSignal | undefined,
  database: PostgresDatabase,
): Promise<void> {
  await database.transaction(async (client) => {
    await runQueries(insertRows('jobs', [job]), client);
    for (const rows of trajectoryBatches(job.id, trajectories())) {
      signal?.throwIfAborted();
      await runQueries(insertRows('trajectories', rows), client);
    }
  });
}

function* trajectoryBatches(jobId: string, trajectories: Iterable<StagedTrajectory>) {
  let rows: RowValues[] = [];
  let bytes = 0;
  for (const {
    group,
    index,
    bytes: { buffer, byteOffset, length },
  } of trajectories) {
    const trajectory = Buffer.from(buffer, byteOffset, length).toString();
    rows.push({ job_id: jobId, group_index: group, trajectory_index: index, trajectory });
    bytes += length;
    if (bytes < MAX_INSERT_BYTES && rows.length < MAX_INSERT_ROWS) continue;
    yield rows;
    [rows, bytes] = [[], 0];
  }
  if (rows.length > 0) yield rows;
}
