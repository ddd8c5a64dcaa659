import type { PostgresAddress } from '../../../config/postgres-address.ts';
import { errorMessage, Failure } from '../../../errors.ts';
import type { ExchangeSignal } from '../../../http/message.ts';
import {
  type CallWrite,
  type FeedbackWrite,
  insertRows,
  type JobRow,
  type QuerySequence,
  type RowQuery,
  type RowValues,
  replaceFeedback,
  type ServiceStore,
  type StagedTrajectory,
  type StoredRow,
  StoreError,
  saveCalls,
} from '../service-store.ts';
import { createSharedBatches } from '../shared-batches.ts';
import { postgresTables } from '../tables.ts';
import { openPostgresDatabase, type PostgresClient, type PostgresDatabase } from './postgres-database.ts';

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
    checkHealth: async () => {
      const [row] = await database.query(async (client) => client`show transaction_read_only`);
      if (row?.transaction_read_only === 'on')
        throw new StoreError('lost', `the database at ${address.label} is read-only`);
    },
    close: database.close,
  };
}

// Any number that all services agree on.
const TABLES_LOCK_ID = 7_371_776_300;

// Versions 1 and 2 were never released.
const SCHEMA_VERSION = 3;

// Creates the tables in the schema `svc`, once for all services. Throws Failure `local_file` for tables of another version.
async function createPostgresTables(database: PostgresDatabase, label: string): Promise<void> {
  if ((await database.query(readVersion)) === SCHEMA_VERSION) return;
  await database.transaction(async (client) => {
    await client`select pg_advisory_xact_lock(${TABLES_LOCK_ID})`;
    const version = await readVersion(client);
    if (version === SCHEMA_VERSION) return;
    if (version !== 0)
      throw new Failure(
        'local_file',
        `the tables in ${label} have version ${version}, but this svc supports only version ${SCHEMA_VERSION}`,
        { hint: 'update svc, or use another database' },
      );
    await client`create schema if not exists svc`;
    await client`create table svc.schema_version (version integer not null)`;
    await client`insert into svc.schema_version values (${SCHEMA_VERSION})`;
    for (const statement of postgresTables) await client.unsafe(statement);
  });
}

// 0 if there are no tables.
async function readVersion(client: PostgresClient): Promise<number> {
  const tables = await client`select 1 from information_schema.tables
    where table_schema = 'svc' and table_name = 'schema_version'`;
  if (tables.length === 0) return 0;
  const [row] = await client`select version from svc.schema_version`;
  return Number(row?.version ?? 0);
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
  for (const { group, index, bytes: trajectory } of trajectories) {
    rows.push({ job_id: jobId, group_index: group, trajectory_index: index, trajectory: trajectory.toString() });
    bytes += trajectory.length;
    if (bytes < MAX_INSERT_BYTES && rows.length < MAX_INSERT_ROWS) continue;
    yield rows;
    [rows, bytes] = [[], 0];
  }
  if (rows.length > 0) yield rows;
}
