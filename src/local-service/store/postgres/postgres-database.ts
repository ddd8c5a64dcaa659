import type { Buffer } from 'node:buffer';
import { connect, type Socket } from 'node:net';
import postgres from 'postgres';
import type { PostgresAddress } from '../../../config/postgres-address.ts';
import { errorMessage } from '../../../errors.ts';
import { errorCode } from '../../../files/file-errors.ts';
import { StoreError } from '../service-store.ts';

export type PostgresClient = postgres.Sql | postgres.TransactionSql;

export type PostgresDatabase = ReturnType<typeof openPostgresDatabase>;

const MAX_POOL_CONNECTIONS = 6;
const CONNECT_TIMEOUT_SECONDS = 10;
const RECONNECT_DELAY_SECONDS = 0.2;
const CLOSE_TIMEOUT_SECONDS = 2;
const MAX_TRANSACTION_ATTEMPTS = 5;

/** A PostgreSQL database behind a small pool, which connects at the first statement. Its functions throw StoreError. */
export function openPostgresDatabase(address: PostgresAddress, password: string | undefined) {
  const { host, port, database, user, sslMode, label } = address;
  const sql = postgres({
    ...{ host, port, database, user, pass: password ?? '' },
    ssl: sslMode === 'disable' ? false : sslMode,
    // The bytes of a TLS connection do not pass through its socket.
    ...(sslMode === 'disable' ? { socket: () => connectLimited(address) } : {}),
    max: MAX_POOL_CONNECTIONS,
    connect_timeout: CONNECT_TIMEOUT_SECONDS,
    backoff: () => RECONNECT_DELAY_SECONDS,
    // A pooler in front of the database may give each transaction another connection.
    prepare: false,
    // The library would ask for these types, and not catch the failure of that query.
    fetch_types: false,
    onnotice: () => {},
    connection: { application_name: 'svc' },
  });
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
    query: <T>(action: (client: PostgresClient) => Promise<T>): Promise<T> => attempt(() => action(sql)),
    /**
     * Runs an action in one transaction; it may run several times, of which only the last is kept. If the connection is
     * lost during the commit, the reason is `lost` for an action that can be repeated, else `unknown`.
     */
    transaction: <T>(action: (client: PostgresClient) => Promise<T>, canRepeat = false): Promise<T> =>
      attempt(async () => {
        let result: { readonly value: T } | undefined;
        try {
          await sql.begin(async (client) => {
            result = { value: await action(client) };
          });
        } catch (error) {
          throw result && !canRepeat && isConnectionError(error) ? unknownCommit(error, label) : error;
        }
        if (!result) throw new Error('the transaction did not run');
        return result.value;
      }),
    close: (): Promise<void> => sql.end({ timeout: CLOSE_TIMEOUT_SECONDS }),
  };
}

// Of the library and of the system.
const LOST_CONNECTION =
  /^(CONNECTION_(CLOSED|ENDED|DESTROYED)|CONNECT_TIMEOUT|ECONNREFUSED|ECONNRESET|EPIPE|ENOENT|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH)$/;

// Class 08: connection exceptions; 57P: operator intervention, such as a shutdown.
function isConnectionError(error: unknown): boolean {
  const code = errorCode(error) ?? '';
  return LOST_CONNECTION.test(code) || /^(08...|57P..)$/.test(code);
}

// The database may have received the commit before the connection was lost.
function unknownCommit(error: unknown, label: string): StoreError {
  const message = `lost the connection to the database at ${label} during a commit, which may have succeeded`;
  return new StoreError('unknown', `${message}: ${errorMessage(error)}`);
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

// A row has at most a request and a response of 32 MiB each (docs/servers.md), and a query at most some thousand rows.
const MAX_RESPONSE_BYTES = 96 * 1024 * 1024;

// A connection to a database, for the protocol without TLS. It fails with Error if the database sends more than 96 MiB between
// two requests: the client library has no limit.
function connectLimited({ host, port }: PostgresAddress): Socket {
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
  let [bytes, sentBytes] = [0, 0];
  return socket.on('data', (chunk: Buffer) => {
    if (socket.bytesWritten !== sentBytes) [bytes, sentBytes] = [0, socket.bytesWritten];
    bytes += chunk.length;
    if (bytes > MAX_RESPONSE_BYTES) socket.destroy(new Error('the database sent more than 96 MiB without a request'));
  });
}
