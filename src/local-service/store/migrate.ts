import { Failure } from '../../errors.ts';
import type { TrustOptions } from '../../files/trusted-file.ts';
import type { Store } from './open-store.ts';

// Fewer are converted in about a second.
const MAX_UNANNOUNCED_ROWS = 20_000;

/**
 * Creates the tables of an empty database, or converts those of an earlier svc with all data in
 * them; `warn` announces a conversion that may take long. Throws Failure `local` for a database that is not ours or that a
 * later svc made, and leaves it as it is.
 */
export async function migrateSchema(store: Store, path: string, warn?: TrustOptions['warn']): Promise<void> {
  const version = schemaVersion(store, path);
  if (version === schemaVersions.length) return;
  const rows = version === 0 ? 0 : countRows(store);
  if (rows > MAX_UNANNOUNCED_ROWS)
    await warn?.(
      `converting ${path} to the format of this svc (${rows} calls and feedback records); this can take a minute`,
    );
  store.transaction(() => {
    // Another process may have made them in the meantime.
    for (const statement of schemaVersions.slice(schemaVersion(store, path)).flat()) store.run(statement);
    store.run(`pragma user_version = ${schemaVersions.length}`);
    store.run(`pragma application_id = ${APPLICATION_ID}`);
  });
}

// In one statement, because another process may be converting it.
const STATE_QUERY = `select application_id, user_version, (select count(*) from sqlite_master) as tables
  from pragma_application_id, pragma_user_version`;

/** The version of the tables, 0 for an empty database. Throws Failure `local` for one that this svc does not know. */
export function schemaVersion(store: Store, path: string): number {
  const { application_id: application, user_version: version, tables } = store.first(STATE_QUERY) ?? {};
  if (application === 0 && version === 0 && tables === 0) return version;
  const hint = 'move it away, or use other data (--data of svc serve, SVC_DATA_DIR)';
  if (application !== APPLICATION_ID)
    throw new Failure('local', `${path} is a database of another program, not of svc`, { hint });
  if (typeof version === 'number' && version > 0 && version <= schemaVersions.length) return version;
  const known = `its tables have version ${version}, but this svc supports only versions up to ${schemaVersions.length}`;
  throw new Failure('local', `the data in ${path} was written by another version of svc: ${known}`, {
    hint: `update svc, or ${hint}`,
  });
}

function countRows(store: Store): number {
  return Number(store.first('select (select count(*) from calls) + (select count(*) from feedback) as rows')?.rows);
}

/** The application id in the header of an SQLite database: `svc` and a zero byte. */
export const APPLICATION_ID = 0x73766300;

// The tables of the local service. Bodies are kept as the text they came in, so no digit is lost.
const initialTables: readonly string[] = [
  `create table feedback (
    seq integer primary key autoincrement,
    project_id text not null,
    id text not null,
    feedback_type text not null,
    trigger_ref text,
    payload text not null,
    record text not null,
    svc_user_id text not null,
    created_at integer not null,
    unique (project_id, id)
  )`,
  `create index feedback_by_time on feedback (project_id, created_at)`,
  `create table calls (
    project_id text not null,
    id text not null,
    trace_id text not null,
    start text not null,
    created_at integer not null,
    primary key (project_id, id)
  ) without rowid`,
  `create table jobs (
    id text primary key,
    model_id text not null,
    experimental_config text,
    created_at integer not null
  ) without rowid`,
  `create table trajectories (
    job_id text not null references jobs (id),
    group_index integer not null,
    trajectory_index integer not null,
    trajectory blob not null,
    primary key (job_id, group_index, trajectory_index)
  )`,
];

// Samples of payloads (payload-sample.ts) are taken from these alone, whatever else is stored.
const sampleIndexes: readonly string[] = [
  'drop index feedback_by_time',
  'create index feedback_by_time on feedback (project_id, created_at, seq, trigger_ref)',
  'create index feedback_by_type on feedback (project_id, feedback_type, created_at, seq, trigger_ref)',
  'create index feedback_by_trigger on feedback (project_id, feedback_type, trigger_ref, created_at, seq)',
];

// For the page: the newest rows of each table, and the calls of a trace.
const pageTables: readonly string[] = [
  `create table chats (
    id text primary key,
    request text not null,
    response text not null,
    status integer not null,
    created_at integer not null
  ) without rowid`,
  'create index calls_by_time on calls (created_at, id, project_id)',
  'create index calls_by_trace on calls (trace_id, created_at)',
  'create index feedback_by_age on feedback (created_at, id, project_id)',
  'create index jobs_by_time on jobs (created_at, id)',
  'create index chats_by_time on chats (created_at, id)',
];

// Rows in order of arrival: random ids change one page of a small index each, not several pages of the table.
const callsInOrder: readonly string[] = [
  'alter table calls rename to calls_by_id',
  `create table calls (
    seq integer primary key,
    project_id text not null,
    id text not null,
    trace_id text not null,
    start text not null,
    created_at integer not null,
    unique (project_id, id)
  )`,
  `insert into calls (project_id, id, trace_id, start, created_at)
    select project_id, id, trace_id, start, created_at from calls_by_id order by created_at`,
  'drop table calls_by_id',
  'create index calls_by_time on calls (created_at, id, project_id)',
  'create index calls_by_trace on calls (trace_id, created_at)',
];

/** The statements that convert the tables to each version from the one before; released versions never change. */
export const schemaVersions: readonly (readonly string[])[] = [initialTables, sampleIndexes, pageTables, callsInOrder];
