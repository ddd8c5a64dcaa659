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

/** What svc 0.2 wrote: the tables of version 6. */
const earlierVersion: readonly string[] = [...embeddedTables.earlier, ours, 'pragma user_version = 6'];

const TABLES = 'select type, name, sql from sqlite_master order by type, name';

describe('the database', () => {
  it.each([
    [30_000, 1],
    [1000, 0],
  ])('with %i calls of an earlier version is converted after %i announcements', async (calls, count) => {
    const path = made(
      ...earlierVersion,
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
    expect(warnings).toMatchObject(Array(count).fill([announced, { user_version: 6 }]));
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

  it('of version 6 is converted with the ends and failures of its records', async () => {
    const span = '{"startTimeUnixNano":"1000000","endTimeUnixNano":"3500000","status":{"code":2}}';
    const path = made(
      ...earlierVersion,
      `insert into calls (project_id, id, trace_id, start, created_at) values
        ('a/b', 'c', 'd', '{"op_name":"x","started_at":"2026-01-01T00:00:00.0015Z","otel_dump":${span}}', 7),
        ('a/b', 'e', 'f', 'no JSON', 8)`,
      `insert into feedback (project_id, id, feedback_type, payload, record, svc_user_id, created_at)
        values ('a/b', 'g', 't', '{"score":0.5,"exit_code":1}', '{}', 'u', 1)`,
    );
    // Two at once, as two processes may.
    const opened = await Promise.all([path, path, join(temporaryDirectory(), 'new.db')].map((file) => openStore(file)));
    onTestFinished(() => opened.forEach(({ close }) => void close()));
    const [store, again, fresh] = opened;
    if (!store || !again || !fresh) throw new Error('a store is missing');
    for (const query of ['select user_version from pragma_user_version', TABLES])
      expect([store.all(query), again.all(query)]).toEqual([fresh.all(query), fresh.all(query)]);
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
    ...[0, 1, 3, SCHEMA_VERSION + 1].map((version): [string, () => string, RegExp] => [
      `of version ${version}`,
      () => made(ours, `pragma user_version = ${version}`),
      new RegExp(`version ${version}, but this svc supports only versions 6 and ${SCHEMA_VERSION}$`),
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
