import type { Buffer } from 'node:buffer';
import { connect, type Socket } from 'node:net';
import postgres from 'postgres';
import type { PostgresAddress } from '../../config/postgres-address.ts';
import { errorMessage, Failure } from '../../errors.ts';
import { errorCode } from '../../files/file-errors.ts';
import type { ExchangeSignal } from '../../http/message.ts';
import { insertRows, type QuerySequence, type RowQuery, type RowValues, typedRows } from './row-query.ts';
import {
  type CallWrite,
  createSharedBatches,
  type FeedbackWrite,
  type JobRow,
  replaceFeedback,
  type ServiceStore,
  type StagedTrajectory,
  StoreError,
  saveCalls,
} from './service-store.ts';
import { postgresTables } from './tables.ts';
import { fillFacts } from './traces.ts';

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
    readRows: (query) => database.query(async (client) => typedRows(await readRows(query, client), query)),
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
// svc 0.2 wrote version 4.
const SCHEMA_VERSION = 5;

// Creates the tables in the schema `svc`, once for all services.
async function createPostgresTables(database: PostgresDatabase, label: string): Promise<void> {
  if ((await database.query(readVersion)) === SCHEMA_VERSION) return;
  await database.transaction(async (client) => {
    await client`select pg_advisory_xact_lock(${TABLES_LOCK_ID})`;
    const version = await readVersion(client);
    if (version === SCHEMA_VERSION) return;
    if (version !== 0 && version !== 4)
      throw new Failure(
        'local_file',
        `the tables in ${label} have version ${version}, but this svc supports only versions 4 and ${SCHEMA_VERSION}`,
        { hint: 'update svc, or use another database' },
      );
    await client`create schema if not exists svc`;
    await client`create table if not exists svc.schema_version (version integer not null)`;
    await client`delete from svc.schema_version`;
    await client`insert into svc.schema_version values (${SCHEMA_VERSION})`;
    const { earlier, latest } = postgresTables;
    for (const statement of version === 0 ? [...earlier, ...latest] : latest) await client.unsafe(statement);
    await runQueries(fillFacts(), client);
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

async function readRows({ sql, values }: RowQuery<string>, client: PostgresClient) {
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

type PostgresClient = postgres.Sql;

type PostgresDatabase = ReturnType<typeof openPostgresDatabase>;

const MAX_POOL_CONNECTIONS = 6;
const CONNECT_TIMEOUT_SECONDS = 10;
const CLOSE_TIMEOUT_SECONDS = 2;
const MAX_TRANSACTION_ATTEMPTS = 5;

// A small pool, which connects at the first statement.
function createConnectionPool(address: PostgresAddress, password: string | undefined) {
  const open = new Set<PostgresConnection>();
  const idle = new Set<PostgresConnection>();
  const waiting: (() => void)[] = [];
  let isClosed = false;
  const discard = (connection: PostgresConnection): void => {
    open.delete(connection);
    idle.delete(connection);
    void connection.client.end({ timeout: 0 });
  };
  const connect = (): PostgresConnection => {
    const connection = openPostgresConnection(address, password);
    connection.lost.catch(() => discard(connection));
    open.add(connection);
    return connection;
  };
  const use = async <T>(run: (client: PostgresClient) => Promise<T>): Promise<T> => {
    while (idle.size === 0 && open.size === MAX_POOL_CONNECTIONS)
      await new Promise<void>((resolve) => void waiting.push(resolve));
    if (isClosed) throw closedError();
    const [connection = connect()] = idle;
    idle.delete(connection);
    try {
      const result = await Promise.race([run(connection.client), connection.lost]);
      idle.add(connection);
      return result;
    } catch (error) {
      // This also rolls a transaction back.
      discard(connection);
      throw error;
    } finally {
      waiting.shift()?.();
    }
  };
  const close = async (): Promise<void> => {
    isClosed = true;
    await Promise.all(Array.from(open, ({ client }) => client.end({ timeout: CLOSE_TIMEOUT_SECONDS })));
  };
  return { use, close };
}

// A PostgreSQL database. Its functions throw StoreError.
function openPostgresDatabase(address: PostgresAddress, password: string | undefined) {
  const { label } = address;
  const { use, close } = createConnectionPool(address, password);
  const attempt = async <T>(run: () => Promise<T>): Promise<T> => {
    for (let count = 1; ; count++) {
      try {
        return await run();
      } catch (error) {
        // Serialization failures and deadlocks: the database asks for the transaction again.
        const canRetry = error instanceof postgres.PostgresError && ['40001', '40P01'].includes(error.code);
        if (count === MAX_TRANSACTION_ATTEMPTS || !canRetry) throw toPostgresStoreError(error, label);
      }
    }
  };
  return {
    /** Runs statements outside of a transaction; statements that may run twice only. */
    query: <T>(action: (client: PostgresClient) => Promise<T>): Promise<T> => attempt(() => use(action)),
    /**
     * Runs an action in one transaction; it may run several times, of which only the last is kept. If the connection is
     * lost during the commit, the reason is `lost` for an action that can be repeated, else `unknown`.
     */
    transaction: <T>(action: (client: PostgresClient) => Promise<T>, canRepeat = false): Promise<T> =>
      attempt(async () => {
        let isCommitting = false;
        try {
          return await use(async (client) => {
            await client`begin`;
            const result = await action(client);
            isCommitting = true;
            await client`commit`;
            return result;
          });
        } catch (error) {
          if (!isCommitting || canRepeat || !isConnectionError(error)) throw error;
          // The database may have received the commit before the connection was lost.
          const message = `lost the connection to the database at ${label} during a commit, which may have succeeded`;
          throw new StoreError('unknown', `${message}: ${errorMessage(error)}`);
        }
      }),
    close,
  };
}

// A row has at most a request and a response of 32 MiB each (docs/internals/servers.md), and a query at most some thousand rows.
const MAX_QUERY_RESULT_BYTES = 96 * 1024 * 1024;
// What a row takes in memory besides its columns.
const ROW_BYTES = 100;

type PostgresConnection = ReturnType<typeof openPostgresConnection>;

// One connection, made at the first statement; `lost` rejects when it ends. The library uses a lost connection again in a wrong
// state: it throws outside of any promise, sends nothing, or waits for old responses (issues 1208 and 1186 of porsager/postgres).
// So each connection is an instance of its own, which must not be used after an error.
function openPostgresConnection(address: PostgresAddress, password: string | undefined) {
  const { host, port, database, user, sslMode } = address;
  let lose = (_error: Error): void => {};
  const lost = new Promise<never>((_, reject) => {
    lose = reject;
  });
  let [bytes, sentBytes] = [0, 0];
  let hasSocket = false;
  const socket = (): Socket => {
    // The library would connect without end to a server that closes each connection at once.
    if (hasSocket) throw closedError();
    hasSocket = true;
    const opened = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
    opened.once('error', lose).once('end', () => lose(closedError()));
    // The library has no limit. With TLS it takes these listeners away.
    opened.on('data', (chunk: Buffer) => {
      if (opened.bytesWritten !== sentBytes) [bytes, sentBytes] = [0, opened.bytesWritten];
      bytes += chunk.length;
      if (bytes > MAX_QUERY_RESULT_BYTES)
        opened.destroy(new Error('the database sent more than 96 MiB without a request'));
    });
    // The name that the library asks for with TLS.
    return Object.assign(opened, { host });
  };
  const client = postgres({
    ...{ host, port, database, user, socket, pass: password ?? '' },
    ssl: sslMode === 'disable' ? false : sslMode,
    onclose: () => lose(closedError()),
    transform: {
      row: (row) => {
        bytes += ROW_BYTES;
        return row;
      },
    },
    max: 1,
    // The library would also end a connection within a transaction.
    max_lifetime: null,
    connect_timeout: CONNECT_TIMEOUT_SECONDS,
    // A pooler in front of the database may give each transaction another connection.
    prepare: false,
    // The library would ask for these types, and not catch the failure of that query.
    fetch_types: false,
    onnotice: () => {},
    connection: { application_name: 'svc' },
  });
  return { client, lost };
}

function closedError(): Error {
  return Object.assign(new Error('the connection was closed'), { code: 'CONNECTION_CLOSED' });
}

// Of the library and of the system.
const LOST_CONNECTION =
  /^(CONNECTION_(CLOSED|ENDED|DESTROYED)|CONNECT_TIMEOUT|ECONNREFUSED|ECONNRESET|EPIPE|ENOENT|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH)$/;

// Class 08: connection exceptions; 57P: operator intervention, such as a shutdown.
function isConnectionError(error: unknown): boolean {
  const code = errorCode(error) ?? '';
  return LOST_CONNECTION.test(code) || /^(08...|57P..)$/.test(code);
}

function toPostgresStoreError(error: unknown, label: string): unknown {
  const code = errorCode(error) ?? '';
  const reason = errorMessage(error);
  // 25006: a read-only standby.
  if (isConnectionError(error) || code === '25006')
    return new StoreError('lost', `could not reach the database at ${label}: ${reason}`);
  if (code === '53100') return new StoreError('full', `the disk of the database at ${label} is full`);
  // Class 53: insufficient resources, such as too many connections.
  if (/^(53...|40001|40P01|55P03)$/.test(code))
    return new StoreError('busy', `the database at ${label} is busy: ${reason}`);
  if (code === '22021')
    return new StoreError('unsupported', 'PostgreSQL cannot store U+0000 in ids, names and references');
  if (code === '54000')
    return new StoreError('unsupported', 'an id or reference is too long for an index of PostgreSQL');
  return error;
}
