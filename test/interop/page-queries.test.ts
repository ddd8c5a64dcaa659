import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parsePostgresUrl } from '../../src/config/postgres-address.ts';
import { openServiceStore } from '../../src/local-service/open-local-service.ts';
import { readTrace } from '../../src/local-service/page-summaries.ts';
import {
  type PageTable,
  pageTables,
  readFeedbackOf,
  readPage,
  readRecord,
  readStoredTrajectories,
  readTotals,
} from '../../src/local-service/store/page-queries.ts';
import type { RowQuery, ServiceStore } from '../../src/local-service/store/service-store.ts';
import { noPostgres, type PostgresServer, postgresServer } from '../support/postgres.ts';
import { temporaryDirectory } from '../support/svc.ts';

const reason = noPostgres();
if (reason) process.stderr.write(`skipped: the queries of the page in PostgreSQL: ${reason}\n`);

let server: PostgresServer | undefined;
beforeAll(async () => {
  if (!reason) server = await postgresServer();
}, 120_000);
afterAll(() => server?.remove());

const ROWS = 60_000;
const TRACES = 800;
const start = Date.UTC(2026, 0, 1);

// So many rows that a plan which reads a whole table is the more expensive one.
async function fill({ readRows }: ServiceStore): Promise<void> {
  const numbers = `with recursive numbers (at) as (select 0 union all select at + 1 from numbers where at < ${ROWS - 1})`;
  const insert = (table: string, columns: string, values: string) =>
    readRows({ sql: `insert into @${table} (${columns}) ${numbers} select ${values} from numbers`, values: [] });
  const record = `'a/p' || (at % 3), 'c' || at, ${start} + at`;
  const call = `'t' || (at % ${TRACES}), '{"op_name":"o' || (at % 7) || '"}'`;
  await insert('calls', 'project_id, id, created_at, trace_id, start', `${record}, ${call}`);
  const feedback = `'f' || (at % 5), '{}', '{}', 'u', 'svc:///a/p' || (at % 3) || '/call/c' || at`;
  const columns = 'project_id, id, created_at, feedback_type, payload, record, svc_user_id, svc_ref';
  await insert('feedback', columns, `${record}, ${feedback}`);
  await insert('chats', 'id, request, response, status, created_at', `'c' || at, '{}', '{}', 200, ${start} + at`);
  await insert('jobs', 'id, model_id, created_at', `'j' || at, 'm', ${start} + at`);
  const trajectory = `'j' || (at / 50), 0, at % 50, '{"reward":1}'`;
  await insert('trajectories', 'job_id, group_index, trajectory_index, trajectory', trajectory);
}

const limit = 50;

/** The statements of each query of the page, with the plan of the database. */
async function plansOf(store: ServiceStore): Promise<readonly (readonly [sql: string, plan: string])[]> {
  const statements = new Map<string, RowQuery>();
  const readRows: ServiceStore['readRows'] = (query) => {
    statements.set(query.sql, query);
    return store.readRows(query);
  };
  const recorded = { ...store, readRows };
  for (const table of Object.keys(pageTables) as PageTable[]) {
    const { next: before } = await readPage(recorded, table, {}, limit);
    await readPage(recorded, table, { before, from: `${start}`, until: `${start + ROWS}` }, limit);
    await readPage(recorded, table, { before, q: 'x' }, limit);
    for (const name of Object.keys(pageTables[table].filters))
      await readPage(recorded, table, { [name]: 'a/p1' }, limit);
    await readRecord(recorded, table, 'a/p1', 'c1');
  }
  await readPage(recorded, 'calls', {}, limit, true);
  await readFeedbackOf(recorded, 'a/p1', 'c1');
  expect((await readTrace(recorded, 't7', 50)).total).toBe(ROWS / TRACES);
  await readTotals(recorded);
  let trajectories = 0;
  for await (const rows of readStoredTrajectories(recorded, 'j0')) trajectories += rows.length;
  expect(trajectories).toBe(50);
  const plans: [string, string][] = [];
  for (const { sql, values } of statements.values()) {
    const explain = server && !(await isEmbedded(store)) ? 'explain' : 'explain query plan';
    const rows = await store.readRows({ sql: `${explain} ${sql}`, values });
    plans.push([sql, rows.map((row) => String(row['QUERY PLAN'] ?? row.detail)).join('\n')]);
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
      const scans = plan.split('\n').filter((step) => /^SCAN (?!each|CONSTANT)/.test(step) && !step.includes('INDEX'));
      expect([sql, scans, /TEMP B-TREE FOR (?!LAST|RIGHT)/.test(plan)]).toEqual([sql, [], false]);
    }
  });

  it.skipIf(reason)('use an index in PostgreSQL', async () => {
    const url = server?.newDatabase() ?? '';
    const postgres = { address: parsePostgresUrl(url, 'svc'), password: undefined };
    const store = await openServiceStore(
      { databaseFile: join(temporaryDirectory(), 'svc.db'), postgres, trust: undefined },
      start,
    );
    onTestFinished(store.close);
    await fill(store);
    server?.query(url, 'analyze');
    const plans = await plansOf(store);
    expect(plans.length).toBeGreaterThan(20);
    for (const [sql, plan] of plans) expect([sql, plan, /Seq Scan/.test(plan)]).toEqual([sql, plan, false]);
  });
});
