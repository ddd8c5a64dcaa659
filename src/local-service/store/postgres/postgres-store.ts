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
  const commit = <T>(queries: () => QuerySequence<T>): Promise<T> =>
    database.transaction((client) => runQueries(queries(), client));
  return {
    saveCall: createSharedBatches(
      (calls: readonly CallWrite[]) => commit(() => saveCalls(calls)),
      ({ row }) => row.start.length,
    ),
    replaceFeedback: createSharedBatches(
      (records: readonly FeedbackWrite[]) => commit(() => replaceFeedback(records)),
      ({ row }) => 2 * row.record.length,
    ),
    commit,
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
