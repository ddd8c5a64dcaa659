import { Failure } from '../../../errors.ts';
import { postgresTables } from '../tables.ts';
import type { PostgresClient, PostgresDatabase } from './postgres-database.ts';

// Any number that all services agree on.
const TABLES_LOCK_ID = 7_371_776_300;

// Versions 1 to 3 were never released.
const SCHEMA_VERSION = 4;

/** Creates the tables in the schema `svc`, once for all services. Throws Failure `local_file` for tables of another version. */
export async function createPostgresTables(database: PostgresDatabase, label: string): Promise<void> {
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
