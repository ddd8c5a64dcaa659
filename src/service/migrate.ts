import { Failure } from '../errors.ts';
import { applicationId, schema, schemaVersion } from './schema.ts';
import type { Store } from './store.ts';

/**
 * Makes the tables of an empty database. Throws Failure `local` for one that is not ours or that a later svc made, and
 * leaves it as it is.
 */
export function migrate(store: Store, path: string): void {
  if (isReady(store, path)) return;
  store.transaction(() => {
    // Another process may have made them in the meantime.
    if (!isReady(store, path)) for (const statement of schema) store.run(statement);
  });
}

// In one statement, because another process may be at it.
const STATE = `select application_id, user_version, (select count(*) from sqlite_master) as tables
  from pragma_application_id, pragma_user_version`;

function isReady(store: Store, path: string): boolean {
  const { application_id: application, user_version: version, tables } = store.first(STATE) ?? {};
  if (application === applicationId && version === schemaVersion) return true;
  if (application === 0 && version === 0 && tables === 0) return false;
  const hint = 'move it away, or use other data (--data of svc serve, SVC_DATA_DIR)';
  if (application !== applicationId)
    throw new Failure('local', `${path} is a database of another program, not of svc`, { hint });
  const versions = `its tables have version ${version}, and this svc knows ${schemaVersion}`;
  throw new Failure('local', `the data in ${path} is of another svc: ${versions}`, { hint: `update svc, or ${hint}` });
}
