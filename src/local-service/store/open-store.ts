import { closeSync, openSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import type Database from 'libsql';
import { errorMessage, Failure } from '../../errors.ts';
import { errorCode, fileFailure } from '../../files/file-errors.ts';
import { makeDirectory } from '../../files/file-replacement.ts';
import { narrowMode, requireOwnFile, requireRegularFile, type TrustOptions } from '../../files/trusted-file.ts';
import type { ExchangeSignal } from '../../http/message.ts';
import { yieldToEventLoop } from '../event-loop.ts';
import { serviceLimits } from '../service-context.ts';
import { insertRows, type QuerySequence, type RowQuery, typedRows } from './row-query.ts';
import {
  createSharedBatches,
  type JobRow,
  replaceFeedback,
  type ServiceStore,
  type StagedTrajectory,
  StoreError,
  saveCalls,
} from './service-store.ts';
import { embeddedTables } from './tables.ts';
import { fillFacts } from './traces.ts';

type SqlValue = string | number | bigint | Uint8Array | null;
export type SqlRow = { readonly [column: string]: SqlValue };

/** An embedded database. Several processes may have it open. Throws StoreError if it is locked or the disk is full. */
export interface Store {
  readonly all: (sql: string, ...values: SqlValue[]) => SqlRow[];
  readonly first: (sql: string, ...values: SqlValue[]) => SqlRow | undefined;
  readonly run: (sql: string, ...values: SqlValue[]) => void;
  /** Runs an action in a transaction; durable when it returns. */
  readonly transaction: <T>(action: () => T) => T;
  readonly snapshot: <T>(action: () => T) => T;
  readonly close: () => void;
}

// How long one process waits for another that is writing.
const BUSY_TIMEOUT_MS = 10_000;
// The write-ahead log is copied into the database when it has grown by this much.
const CHECKPOINT_BYTES = 16 * 1024 * 1024;

/**
 * Opens the database in a file, creating it (0600, in a 0700 directory) if it does not exist. Throws Failure `local_file` if it
 * cannot be opened, is corrupt or is not a database of svc; then nothing in it has changed. With `trust`, throws Failure
 * `safety_check` for the file of another user, and narrows a mode wider than 0600.
 */
export async function openStore(path: string, trust?: TrustOptions): Promise<Store> {
  // An optional package with native code: an installation can lack it.
  const { default: Library } = await import('libsql').catch((error: unknown) => {
    const [reason] = errorMessage(error).split('\n');
    const hint =
      'install svc with its optional packages: npm install --include=optional svc-cli (with -g if svc is installed globally)';
    throw new Failure('local_file', `the local service needs the package libsql: ${reason}`, { hint, applied: 'no' });
  });
  try {
    await makeDirectory(dirname(path), 0o700);
    if (trust) await requireOwnFile(path, trust);
    await requireRegularFile(path);
    const handle = await open(path, 'a', 0o600);
    const { size } = await handle.stat().finally(() => handle.close());
    requireFileDescriptors();
    return await prepareStore(new Library(path, { timeout: BUSY_TIMEOUT_MS }), path, size, trust);
  } catch (error) {
    const hint = 'set SVC_DATA_DIR to another directory, or name another file with svc serve --data';
    throw fileFailure('open the data in', path, error, { hint });
  }
}

// The library aborts the process if it cannot open its files: the database, its journal, and its own event loop.
const LIBRARY_FILE_DESCRIPTORS = 10;
function requireFileDescriptors(): void {
  const opened: number[] = [];
  try {
    // Any file that exists will do, and this module does on every platform.
    while (opened.length < LIBRARY_FILE_DESCRIPTORS) opened.push(openSync(new URL(import.meta.url), 'r'));
  } finally {
    for (const fd of opened) closeSync(fd);
  }
}

async function prepareStore(
  database: Database.Database,
  path: string,
  bytes: number,
  trust: TrustOptions | undefined,
): Promise<Store> {
  const store = createStore(database, path);
  try {
    // Checkpoints are ours (docs/internals/decisions/0032): automatic ones can lose commits of other processes in this SQLite.
    // No foreign keys: the trajectories of a job are stored before its row (saveJob).
    database.exec('pragma wal_autocheckpoint = 0; pragma synchronous = full; pragma foreign_keys = off');
    // The mode of a file that is not ours stays as it is.
    const version = schemaVersion(store, path);
    if (trust) await narrowMode(path, trust);
    if (version !== SCHEMA_VERSION) await migrateSchema(store, path, version, trust?.warn);
    const check = bytes <= serviceLimits.checkedDatabaseBytes ? store.first('pragma integrity_check(1)') : undefined;
    const problem = check && Object.values(check)[0];
    if (problem !== undefined && problem !== 'ok')
      throw new Failure('local_file', `${path} is corrupt: ${problem}`, {
        hint: 'restore it from a backup, or use other data (--data of svc serve, SVC_DATA_DIR)',
      });
    try {
      database.exec('pragma journal_mode = wal');
    } catch (error) {
      // While another process uses a database without a log it stays so, which is slower and as safe.
      if (!isBusyError(error)) throw error;
    }
    return store;
  } catch (error) {
    store.close();
    throw error;
  }
}

function createStore(database: Database.Database, path: string): Store {
  const checkpoint = createCheckpoints(database, `${path}-wal`);
  // Statements are few, and to compile one takes as long as to run it.
  const statements = new Map<string, Database.Statement>();
  const statement = (sql: string): Database.Statement => {
    const prepared = statements.get(sql) ?? database.prepare(sql);
    statements.set(sql, prepared);
    return prepared;
  };
  const all: Store['all'] = (sql, ...values) =>
    statement(sql)
      .all(...values)
      .filter((row): row is SqlRow => typeof row === 'object' && row !== null);
  return {
    all,
    first: (sql, ...values) => all(sql, ...values)[0],
    run: (sql, ...values) => void statement(sql).run(...values),
    transaction: (action) => {
      const result = runTransaction(database, 'immediate', action);
      checkpoint();
      return result;
    },
    snapshot: (action) => runTransaction(database, 'deferred', action),
    close: () => {
      // The last process to close leaves all data in one file, which can then be copied.
      checkpoint(1);
      database.close();
    },
  };
}

function runTransaction<T>(database: Database.Database, mode: 'immediate' | 'deferred', action: () => T): T {
  try {
    database.exec(`begin ${mode}`);
    const result = action();
    database.exec('commit');
    return result;
  } catch (error) {
    try {
      database.exec('rollback');
    } catch {
      // A full disk has ended the transaction.
    }
    if (isBusyError(error)) throw new StoreError('busy', 'the database is locked by another process');
    if (errorCode(error) === 'SQLITE_FULL') throw new StoreError('full', 'the disk of the database is full');
    throw error;
  }
}

// Copies the log into the database when it is long enough. No process writes meanwhile, which the mode `truncate` ensures. If
// another process reads, it fails and is tried again when the log has grown by as much again. Commits are durable without it.
function createCheckpoints(database: Database.Database, logPath: string): (minBytes?: number) => void {
  const logBytes = (): number => statSync(logPath, { throwIfNoEntry: false })?.size ?? 0;
  let limitBytes = CHECKPOINT_BYTES;
  return (minBytes = limitBytes) => {
    if (logBytes() < minBytes) return;
    try {
      database.exec('pragma wal_checkpoint(truncate)');
    } catch {
      // A full disk: the next commit reports it.
    }
    limitBytes = logBytes() + CHECKPOINT_BYTES;
  };
}

// Also SQLITE_BUSY_RECOVERY.
function isBusyError(error: unknown): boolean {
  return errorCode(error)?.startsWith('SQLITE_BUSY') === true;
}

/** The application id in the header of an SQLite database: `svc` and a zero byte. */
export const APPLICATION_ID = 0x73766300;

/** The version of the tables; svc 0.2 wrote version 6. */
export const SCHEMA_VERSION = 7;

// Fewer are converted in about a second.
const MAX_UNANNOUNCED_ROWS = 20_000;

// Creates the tables of an empty database, or converts those of an earlier svc with all data in them.
async function migrateSchema(
  store: Store,
  path: string,
  version: number,
  warn: TrustOptions['warn'] | undefined,
): Promise<void> {
  const countQuery = 'select (select count(*) from calls) + (select count(*) from feedback) as rows';
  const rows = version === 0 ? 0 : Number(store.first(countQuery)?.rows);
  if (rows > MAX_UNANNOUNCED_ROWS)
    await warn?.(
      `converting ${path} to the format of this svc (${rows} calls and feedback records); this can take a minute`,
    );
  store.transaction(() => {
    // Another process may have made them in the meantime.
    const current = schemaVersion(store, path);
    if (current === SCHEMA_VERSION) return;
    const { earlier, latest } = embeddedTables;
    for (const statement of current === 0 ? [...earlier, ...latest] : latest) store.run(statement);
    runQueries(fillFacts(), store);
    store.run(`pragma user_version = ${SCHEMA_VERSION}`);
    store.run(`pragma application_id = ${APPLICATION_ID}`);
  });
}

// The version of the tables, 0 for an empty database. Throws Failure `local_file` for one that this svc does not know.
function schemaVersion(store: Store, path: string): number {
  // In one statement, because another process may be converting it.
  const query = `select application_id, user_version, (select count(*) from sqlite_master) as tables
    from pragma_application_id, pragma_user_version`;
  const { application_id: application, user_version: version, tables } = store.first(query) ?? {};
  if (application === 0 && version === 0 && tables === 0) return version;
  const hint = 'move it away, or use other data (--data of svc serve, SVC_DATA_DIR)';
  if (application !== APPLICATION_ID)
    throw new Failure('local_file', `${path} is a database of another program, not of svc`, { hint });
  if (version === 6 || version === SCHEMA_VERSION) return version;
  const known = `its tables have version ${version}, but this svc supports only versions 6 and ${SCHEMA_VERSION}`;
  throw new Failure('local_file', `the data in ${path} was written by another version of svc: ${known}`, {
    hint: `update svc, or ${hint}`,
  });
}

export function createEmbeddedStore(database: Store): ServiceStore {
  const groupCommit = createGroupCommit(database);
  const commit = <T>(queries: () => QuerySequence<T>, signal?: ExchangeSignal): Promise<T> =>
    groupCommit(() => runQueries(queries(), database), signal);
  return {
    saveCall: async (call, signal) => (await commit(() => saveCalls([call]), signal)).join(),
    replaceFeedback: (feedback, signal) => commit(() => replaceFeedback([feedback]), signal),
    commit,
    snapshot: async (queries) => database.snapshot(() => runQueries(queries(), database)),
    readRows: async (query) => typedRows(readRows(query, database), query),
    saveJob: (job, trajectories, signal) => saveJob(job, trajectories, signal, database),
    checkHealth: async () => database.transaction(() => {}),
    close: async () => database.close(),
  };
}

function readRows({ sql, values }: RowQuery<string>, database: Store) {
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

/**
 * Returns a function that runs an action in a transaction that others share, completely or not at all. Actions that arrive
 * during a commit share the next one. An action may run twice, the first time undone, and not once its signal is aborted.
 */
export function createGroupCommit(store: Store): <T>(action: () => T, signal?: ExchangeSignal) => Promise<T> {
  const commit = createSharedBatches(
    async (actions: readonly (() => () => void)[]) => store.transaction(() => actions.map((run) => run())),
    () => 0,
    true,
  );
  return (action, signal) =>
    new Promise((resolve, reject) => {
      const run = (): (() => void) => {
        const result = action();
        return () => resolve(result);
      };
      commit(run, signal).then((settle) => settle(), reject);
    });
}
