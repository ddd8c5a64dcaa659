import { Failure } from '../../errors.ts';
import type { Store } from './open-store.ts';
import { APPLICATION_ID, schemaVersions } from './schema-versions.ts';

/**
 * Makes the tables of an empty database, or the latest ones out of those that an earlier svc made, with all that is in
 * them. Throws Failure `local` for a database that is not ours or that a later svc made, and leaves it as it is.
 */
export function migrateSchema(store: Store, path: string): void {
  if (schemaVersion(store, path) === schemaVersions.length) return;
  store.transaction(() => {
    // Another process may have made them in the meantime.
    for (const statement of schemaVersions.slice(schemaVersion(store, path)).flat()) store.run(statement);
    store.run(`pragma user_version = ${schemaVersions.length}`);
    store.run(`pragma application_id = ${APPLICATION_ID}`);
  });
}

// In one statement, because another process may be at it.
const STATE_QUERY = `select application_id, user_version, (select count(*) from sqlite_master) as tables
  from pragma_application_id, pragma_user_version`;

// 0 is an empty one.
function schemaVersion(store: Store, path: string): number {
  const { application_id: application, user_version: version, tables } = store.first(STATE_QUERY) ?? {};
  if (application === 0 && version === 0 && tables === 0) return version;
  const hint = 'move it away, or use other data (--data of svc serve, SVC_DATA_DIR)';
  if (application !== APPLICATION_ID)
    throw new Failure('local', `${path} is a database of another program, not of svc`, { hint });
  if (typeof version === 'number' && version > 0 && version <= schemaVersions.length) return version;
  const known = `its tables have version ${version}, and this svc knows ${schemaVersions.length}`;
  throw new Failure('local', `the data in ${path} is of another svc: ${known}`, { hint: `update svc, or ${hint}` });
}
