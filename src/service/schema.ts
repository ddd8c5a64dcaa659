/** Counts up with every change of the tables; kept in the database. */
export const schemaVersion = 1;

/** The tables of the local service. Bodies are kept as the text they came in, so no digit is lost. */
export const schema = `
create table if not exists feedback (
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
);
create index if not exists feedback_by_time on feedback (project_id, created_at);
create table if not exists calls (
  project_id text not null,
  id text not null,
  trace_id text not null,
  start text not null,
  created_at integer not null,
  primary key (project_id, id)
) without rowid;
create table if not exists jobs (
  id text primary key,
  model_id text not null,
  experimental_config text,
  created_at integer not null
) without rowid;
create table if not exists trajectories (
  job_id text not null references jobs (id),
  group_index integer not null,
  trajectory_index integer not null,
  trajectory blob not null,
  primary key (job_id, group_index, trajectory_index)
);
pragma user_version = ${schemaVersion};
`;
