import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parsePostgresUrl } from '../../src/config/postgres-address.ts';
import { openServiceStore } from '../../src/local-service/open-local-service.ts';
import { pageResponders } from '../../src/local-service/page-routes.ts';
import { readTrace, summarizeTraces } from '../../src/local-service/page-summaries.ts';
import {
  PAGE_TABLES,
  type Parameters,
  readFeedbackOf,
  readPage,
  readRecord,
  readStoredTrajectories,
  readTotals,
  readTraceCalls,
} from '../../src/local-service/store/page-queries.ts';
import type { RowQuery } from '../../src/local-service/store/row-query.ts';
import type { ServiceStore } from '../../src/local-service/store/service-store.ts';
import { makeTraces } from '../../src/local-service/store/traces.ts';
import { filePostgres } from '../support/file-postgres.ts';
import { temporaryDirectory } from '../support/svc.ts';

const { reason, server } = filePostgres('the queries of the page in PostgreSQL');

const ROWS = 60_000;
const TRACES = 20_000;
const start = Date.UTC(2026, 0, 1);

// So many rows that a plan which reads a whole table is the more expensive one.
async function fill(store: ServiceStore): Promise<void> {
  const { readRows } = store;
  const numbers = `with recursive numbers (at) as (select 0 union all select at + 1 from numbers where at < ${ROWS - 1})`;
  const insert = (table: string, columns: string, values: string) =>
    readRows({ sql: `insert into @${table} (${columns}) ${numbers} select ${values} from numbers`, values: [] });
  const record = `'a/p' || (at % 3), 'c' || at, ${start} + at`;
  const call = `'t' || (at % ${TRACES}), '{"op_name":"o' || (at % 7) || '"}', ${start} + at, 'o' || (at % 7)`;
  await insert('calls', 'project_id, id, created_at, trace_id, start, started_ms, op_name', `${record}, ${call}`);
  const feedback = `'f' || (at % 5), '{}', '{}', 'u', 'svc:///a/p' || (at % 3) || '/call/c' || at`;
  const columns = 'project_id, id, created_at, feedback_type, payload, record, svc_user_id, svc_ref';
  await insert('feedback', columns, `${record}, ${feedback}`);
  await insert('chats', 'id, request, response, status, created_at', `'c' || at, '{}', '{}', 200, ${start} + at`);
  await readRows({ sql: 'insert into @traces (trace_id, stale) select distinct trace_id, 1 from @calls', values: [] });
  await makeTraces(store);
  await insert('jobs', 'id, model_id, created_at', `'j' || at, 'm', ${start} + at`);
  const trajectory = `'j' || (at / 50), 0, at % 50, '{"reward":1}'`;
  await insert('trajectories', 'job_id, group_index, trajectory_index, trajectory', trajectory);
}

const limit = 50;

/** The statements of each query of the page, with the plan of the database. */
async function plansOf(store: ServiceStore): Promise<readonly (readonly [sql: string, plan: string])[]> {
  const statements = new Map<string, RowQuery<string>>();
  const readRows: ServiceStore['readRows'] = (query) => {
    statements.set(query.sql, query);
    return store.readRows(query);
  };
  const recorded = { ...store, readRows };
  const filters: { readonly [table in (typeof PAGE_TABLES)[number]]: readonly Parameters[] } = {
    calls: [
      ...['start', 'duration', 'failures'].flatMap((sort) => [
        { sort },
        { sort, order: 'ascending' },
        { sort, q: 'x', project: 'a/p1', op: 'o1', type: 'f1', value: '>0.5' },
        { sort, failed: 'yes', duration: '>2s' },
      ]),
    ],
    feedback: [{ project: 'a/p1' }, { type: 'f1', value: '0.5' }, { trigger: 't' }, { user: 'u' }],
    jobs: [{ model: 'm' }],
    chats: [{ model: 'm' }, { status: '200' }],
  };
  for (const table of PAGE_TABLES) {
    const { next: before } = await readPage(recorded, table, {}, limit);
    await readPage(recorded, table, { before, from: `${start}`, until: `${start + ROWS}` }, limit);
    for (const own of [{ q: 'x' }, ...filters[table]]) {
      const { next } = await readPage(recorded, table, own, limit);
      await readPage(recorded, table, { ...own, before: next }, limit);
    }
    await readRecord(recorded, table, 'a/p1', 'c1');
  }
  const { rows } = await readPage(recorded, 'calls', {}, limit);
  expect(await summarizeTraces(recorded, rows, { q: 'o1' })).toHaveLength(limit);
  await readFeedbackOf(recorded, 'a/p1', 'c1');
  expect((await readTrace(recorded, { id: 't7', q: 'o1' }, 50)).total).toBe(ROWS / TRACES);
  for await (const calls of readTraceCalls(recorded, 't7', { op: 'o1' })) expect(calls.length).toBeGreaterThan(0);
  await readTotals(recorded);
  let trajectories = 0;
  for await (const rows of readStoredTrajectories(recorded, 'j0')) trajectories += rows.length;
  expect(trajectories).toBe(50);
  const plans: [string, string][] = [];
  for (const { sql, values } of statements.values()) {
    const [explain, column] =
      server() && !(await isEmbedded(store)) ? ['explain', 'QUERY PLAN'] : ['explain query plan', 'detail'];
    const rows = await store.readRows<string>({ sql: `${explain} ${sql}`, values, columns: [column ?? ''] });
    plans.push([sql, rows.map((row) => String(row[column ?? ''])).join('\n')]);
  }
  return plans;
}

async function isEmbedded(store: ServiceStore): Promise<boolean> {
  return store.readRows({ sql: 'select sqlite_version() as version', values: [] }).then(
    () => true,
    () => false,
  );
}

describe('the queries of the page', { timeout: 240_000 }, () => {
  it('use an index and sort nothing in an embedded database', async () => {
    const source = { databaseFile: join(temporaryDirectory(), 'svc.db'), postgres: undefined, trust: undefined };
    const store = await openServiceStore(source, start);
    onTestFinished(store.close);
    await fill(store);
    const plans = await plansOf(store);
    expect(plans.length).toBeGreaterThan(20);
    for (const [sql, plan] of plans) {
      // A scan of an index in its order ends at the limit of the query. Calls of one millisecond are sorted.
      const scans = plan
        .split('\n')
        .filter((step) => /^SCAN (?!each|part|\d+ CONSTANT|CONSTANT)/.test(step) && !step.includes('INDEX'));
      expect([sql, scans, /TEMP B-TREE FOR (?!LAST|RIGHT)/.test(plan)]).toEqual([sql, [], false]);
    }
  });

  it('are four for the first view of traces, however many traces it has', async () => {
    const source = { databaseFile: join(temporaryDirectory(), 'svc.db'), postgres: undefined, trust: undefined };
    const store = await openServiceStore(source, start);
    onTestFinished(store.close);
    await fill(store);
    const queries: string[] = [];
    const readRows: ServiceStore['readRows'] = (query) => {
      queries.push(query.sql);
      return store.readRows(query);
    };
    const { randomBytes, now } = { randomBytes: (count: number) => new Uint8Array(count), now: () => start };
    const context = { directory: '', maxBodyBytes: 0, randomBytes, now, elapsed: now };
    const respond = pageResponders({ ...context, store: { ...store, readRows } })['/page/calls'];
    const request = { method: 'GET', url: 'http://127.0.0.1/page/calls', headers: [], body: new Uint8Array() };
    expect((await respond(request, { user: '', signal: undefined })).status).toBe(200);
    expect(queries).toHaveLength(4);
  });

  it('find the one trace that failed among 4,000 newer ones in one page', async () => {
    const source = { databaseFile: join(temporaryDirectory(), 'svc.db'), postgres: undefined, trust: undefined };
    const store = await openServiceStore(source, start);
    onTestFinished(store.close);
    await fill(store);
    const [oldest] = await store.readRows({
      sql: 'select trace_id from @traces order by started_ms desc, trace_id desc limit 1 offset 4000',
      ...{ values: [], columns: ['trace_id'] },
    });
    await store.readRows({
      sql: 'update @traces set failed = 1 where trace_id = ?',
      values: [String(oldest?.trace_id)],
    });
    const { rows } = await readPage(store, 'calls', { failed: 'yes' }, limit);
    expect(rows.map(({ trace_id }) => trace_id)).toEqual([oldest?.trace_id]);
  });

  it.skipIf(reason)('use an index in PostgreSQL', async () => {
    const url = server()?.newDatabase() ?? '';
    const postgres = { address: parsePostgresUrl(url, 'svc'), password: undefined };
    const store = await openServiceStore(
      { databaseFile: join(temporaryDirectory(), 'svc.db'), postgres, trust: undefined },
      start,
    );
    onTestFinished(store.close);
    await fill(store);
    server()?.query(url, 'vacuum analyze');
    const plans = await plansOf(store);
    expect(plans.length).toBeGreaterThan(20);
    for (const [sql, plan] of plans) expect([sql, plan, /Seq Scan/.test(plan)]).toEqual([sql, plan, false]);
  });
});
