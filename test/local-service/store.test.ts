import { execFileSync } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Failure } from '../../src/errors.ts';
import { APPLICATION_ID, openStore, SCHEMA_VERSION } from '../../src/local-service/store/open-store.ts';
import { embeddedTables } from '../../src/local-service/store/tables.ts';
import { temporaryDirectory } from '../support/svc.ts';

/** A database file that these statements made. */
function made(...statements: readonly string[]): string {
  const path = join(temporaryDirectory(), 'x.db');
  const database = new Database(path);
  for (const statement of statements) database.exec(statement);
  database.close();
  return path;
}

const ownFiles = { userId: process.getuid?.(), warn: async () => {} };

async function failureOf(path: string): Promise<Failure> {
  const error: unknown = await openStore(path, ownFiles).catch((reason: unknown) => reason);
  if (error instanceof Failure) return error;
  throw new Error('it was opened');
}

it('a FIFO is not opened as data, and keeps its mode', async () => {
  const path = join(temporaryDirectory(), 'x.db');
  execFileSync('mkfifo', ['-m', '644', path]);
  const { mode } = statSync(path);
  const message = `cannot open the data in ${path}: it is not a regular file`;
  expect(await failureOf(path)).toMatchObject({ code: 'local_file', message });
  expect(statSync(path).mode).toBe(mode);
});

const ours = `pragma application_id = ${APPLICATION_ID}`;

/** What svc 0.1 wrote: the tables of version 1. */
const firstVersion: readonly string[] = [
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
  'create index feedback_by_time on feedback (project_id, created_at)',
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
  ours,
  'pragma user_version = 1',
];

describe('the database', () => {
  it.each([
    [30_000, 1],
    [1000, 0],
  ])('with %i calls of an earlier version is converted after %i announcements', async (calls, count) => {
    const path = made(
      ...firstVersion,
      `with recursive n (i) as (select 1 union all select i + 1 from n where i < ${calls})
       insert into calls (project_id, id, trace_id, start, created_at)
         select 'a/b', printf('%08d', i), 't', '{}', i from n`,
    );
    const warnings: [text: string, version: unknown][] = [];
    const warn = async (text: string): Promise<void> => {
      const database = new Database(path);
      warnings.push([text, database.prepare('pragma user_version').get()]);
      database.close();
    };
    const store = await openStore(path, { userId: undefined, warn });
    onTestFinished(store.close);
    expect(store.first('select count(*) as calls from calls')).toMatchObject({ calls });
    const announced = expect.stringMatching(`^converting ${path} .*${calls} calls.*a minute$`);
    expect(warnings).toMatchObject(Array(count).fill([announced, { user_version: 1 }]));
  });

  it.each<[string, () => string]>([
    ['where there is none', () => join(temporaryDirectory(), 'deep', 'x.db')],
    ['in an empty file', () => made()],
    [
      'in a database without tables',
      () => made('pragma journal_mode = wal', 'create table t (a)', 'drop table t', 'vacuum'),
    ],
  ])('is created %s, and opened again', async (_, place) => {
    const path = place();
    const first = await openStore(path);
    first.run("insert into jobs (id, model_id, created_at) values ('a', 'b', 1)");
    expect([first.first('pragma journal_mode'), first.first('pragma foreign_keys')]).toMatchObject([
      { journal_mode: 'wal' },
      { foreign_keys: 0 },
    ]);
    first.close();
    const again = await openStore(path);
    expect(again.first('select id from jobs')).toMatchObject({ id: 'a' });
    expect(again.first('pragma application_id')).toMatchObject({ application_id: APPLICATION_ID });
    again.close();
    expect(readFileSync(path).subarray(68, 72).toString()).toBe('svc\0');
  });

  it('of version 1 is converted to the current version with all data', async () => {
    const path = made(
      ...firstVersion,
      `insert into feedback values (7, 'a/b', 'f', 't', 'm:1', '{}', '{"svc_ref":"svc:///a/b/call/c"}', 'u', 1)`,
      "insert into calls (project_id, id, trace_id, start, created_at) values ('a/b', 'c', 'd', '{}', 1)",
    );
    // Two at once, as two processes may.
    const opened = await Promise.all([path, path, join(temporaryDirectory(), 'new.db')].map((file) => openStore(file)));
    onTestFinished(() => opened.forEach(({ close }) => void close()));
    const [tables, again, fresh] = opened.map((store) => [
      store.all('select user_version from pragma_user_version'),
      store.all('select type, name, sql from sqlite_master order by type, name'),
    ]);
    expect([tables, again]).toEqual([fresh, fresh]);
    const feedback = opened[0]?.first('select seq, svc_ref from feedback');
    expect(feedback).toMatchObject({ seq: 7, svc_ref: 'svc:///a/b/call/c' });
    const calls = opened[0]?.all('select project_id, id, trace_id, start, created_at from calls');
    expect(calls).toMatchObject([{ project_id: 'a/b', id: 'c', trace_id: 'd', start: '{}', created_at: 1 }]);
  });

  it('of version 6 is converted with the ends and failures of its records', async () => {
    const span = '{"startTimeUnixNano":"1000000","endTimeUnixNano":"3500000","status":{"code":2}}';
    const path = made(
      ...[...embeddedTables.original, ...embeddedTables.later],
      `insert into calls (project_id, id, trace_id, start, created_at) values
        ('a/b', 'c', 'd', '{"op_name":"x","started_at":"2026-01-01T00:00:00.0015Z","otel_dump":${span}}', 7),
        ('a/b', 'e', 'f', 'no JSON', 8)`,
      `insert into feedback (project_id, id, feedback_type, payload, record, svc_user_id, created_at)
        values ('a/b', 'g', 't', '{"score":0.5,"exit_code":1}', '{}', 'u', 1)`,
      ours,
      'pragma user_version = 6',
    );
    const [store, fresh] = await Promise.all([openStore(path), openStore(join(temporaryDirectory(), 'new.db'))]);
    onTestFinished(() => [store, fresh].forEach(({ close }) => void close()));
    const tables = 'select type, name, sql from sqlite_master order by type, name';
    expect(store.all(tables)).toEqual(fresh.all(tables));
    expect(store.all('select name, started_ms, duration_ms, failed from calls order by id')).toMatchObject([
      { name: 'x', started_ms: Date.UTC(2026, 0, 1) + 1.5, duration_ms: 2.5, failed: 1 },
      { name: null, started_ms: 0, duration_ms: null, failed: 0 },
    ]);
    expect(store.all('select fact, low, high, failed from feedback')).toMatchObject([
      { fact: 'score=0.5', low: 0.5, high: 1, failed: 1 },
    ]);
    expect(store.all('select trace_id, stale from traces order by trace_id')).toMatchObject([
      { trace_id: 'd', stale: 1 },
      { trace_id: 'f', stale: 1 },
    ]);
  });

  it.each<[string, () => string, RegExp]>([
    ['of another program', () => made('create table notes (text)'), /another program/],
    [
      'of another program, with a version',
      () => made('create table notes (text)', 'pragma user_version = 1'),
      /another program/,
    ],
    [
      'of another program, in WAL mode',
      () => made('pragma journal_mode = wal', 'create table feedback (x)'),
      /another program/,
    ],
    ['that is empty but versioned', () => made('pragma user_version = 3'), /another program/],
    ['that names another program', () => made('pragma application_id = 42'), /another program/],
    ...[0, 2, 3, SCHEMA_VERSION + 1].map((version): [string, () => string, RegExp] => [
      `of version ${version}`,
      () => made(ours, `pragma user_version = ${version}`),
      new RegExp(`version ${version}, but this svc supports only versions 1, 6 and ${SCHEMA_VERSION}$`),
    ]),
    ['that is none', () => text('not a database, but a text of some length'.repeat(50)), /not a database/],
  ])('%s is rejected and left unchanged', async (_, place, message) => {
    const path = place();
    const before = { bytes: readFileSync(path), mode: statSync(path).mode };
    const failure = await failureOf(path);
    expect(failure).toMatchObject({ code: 'local_file', message: expect.stringContaining(path) });
    expect(failure.message).toMatch(message);
    expect({ bytes: readFileSync(path), mode: statSync(path).mode }).toEqual(before);
  });
});

function text(content: string): string {
  const path = join(temporaryDirectory(), 'x.db');
  writeFileSync(path, content);
  return path;
}
