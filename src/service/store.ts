import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import Database from 'libsql';
import { Failure } from '../errors.ts';
import { makeFolder } from '../files/folder.ts';
import { errorCode, fileReason } from '../files/reason.ts';
import { migrate } from './migrate.ts';

/** A value of a row. */
export type Value = string | number | bigint | Uint8Array | null;
export type Row = { readonly [column: string]: Value };

/** The database of the local service. Several processes may have it open. */
export interface Store {
  /** The rows of a query. */
  readonly all: (sql: string, ...values: Value[]) => Row[];
  /** The first row of a query. */
  readonly first: (sql: string, ...values: Value[]) => Row | undefined;
  readonly run: (sql: string, ...values: Value[]) => void;
  /** Runs a statement once for each of these rows. */
  readonly runEach: (sql: string, rows: Iterable<readonly Value[]>) => void;
  /** Does all of it or nothing; durable when it returns. */
  readonly transaction: <T>(action: () => T) => T;
  /** Reads all of it from one state of the database. */
  readonly snapshot: <T>(action: () => T) => T;
  readonly close: () => void;
}

// How long one process waits for another that is writing.
const PATIENCE = 10_000;

/**
 * Opens the database in a file, making it (0600, in a 0700 folder) where it is not there. Throws Failure `local` where
 * it cannot be opened or is no database of ours; then nothing in it has changed.
 */
export async function openStore(path: string): Promise<Store> {
  try {
    await makeFolder(dirname(path), 0o700);
    await (await open(path, 'a', 0o600)).close();
    return prepared(new Database(path, { timeout: PATIENCE }), path);
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure('local', `cannot open the data in ${path}: ${fileReason(error)}`);
  }
}

/** True for what a database throws that another process kept to itself for too long. */
export function isBusy(error: unknown): boolean {
  return errorCode(error) === 'SQLITE_BUSY';
}

function prepared(database: Database.Database, path: string): Store {
  const store = storeOn(database);
  try {
    migrate(store, path);
    // Not WAL: with several writing processes the SQLite in this library can lose a WAL reset (docs/decisions/0005).
    database.exec('pragma journal_mode = truncate; pragma synchronous = full; pragma foreign_keys = on');
    return store;
  } catch (error) {
    store.close();
    throw error;
  }
}

function storeOn(database: Database.Database): Store {
  const statement = kept((sql) => database.prepare(sql));
  return {
    all: (sql, ...values) =>
      statement(sql)
        .all(...values)
        .filter(isRow),
    first: (sql, ...values) => {
      const row: unknown = statement(sql).get(...values);
      return isRow(row) ? row : undefined;
    },
    run: (sql, ...values) => void statement(sql).run(...values),
    runEach: (sql, rows) => {
      const each = statement(sql);
      for (const row of rows) each.run(...row);
    },
    transaction: (action) => within(database, 'immediate', action),
    snapshot: (action) => within(database, 'deferred', action),
    close: () => void database.close(),
  };
}

function within<T>(database: Database.Database, mode: 'immediate' | 'deferred', action: () => T): T {
  let result: { readonly value: T } | undefined;
  database
    .transaction(() => {
      result = { value: action() };
    })
    [mode]();
  if (!result) throw new Error('the transaction did not run');
  return result.value;
}

// Statements are few, and to compile one takes as long as to run it.
function kept<T>(make: (sql: string) => T): (sql: string) => T {
  const made = new Map<string, T>();
  return (sql) => {
    const known = made.get(sql) ?? make(sql);
    made.set(sql, known);
    return known;
  };
}

function isRow(row: unknown): row is Row {
  return typeof row === 'object' && row !== null;
}
