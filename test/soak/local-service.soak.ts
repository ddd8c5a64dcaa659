import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import Database from 'libsql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { figure } from '../support/figure.ts';
import { noPostgres, type PostgresServer, postgresServer } from '../support/postgres.ts';
import { type Served, serve } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';
import { modelId } from '../support/trajectories.ts';

// The kills of each store; `npm run test:soak -- local-service` takes about three minutes with the default.
const KILLS = Number(process.env.SVC_SOAK_KILLS ?? 80);
const SERVICES = 2;
const CLIENTS = 8;
const MAX_WAIT_MS = 1500;
const RETRY_DELAY_MS = 20;
// A job of several transactions of the embedded database.
const JOB_TRAJECTORIES = 40;
const TRAJECTORY_CHARS = 100_000;

interface Writes {
  readonly calls: string[];
  readonly feedback: string[];
  readonly jobs: string[];
}

/** A store under test: where services keep it, what is killed beside them, and its rows afterwards. */
interface StoreUnderTest {
  readonly args: readonly string[];
  readonly killDatabase: (() => Promise<void>) | undefined;
  readonly rows: (sql: string) => string[];
}

const reason = noPostgres();
if (reason) process.stderr.write(`skipped: the store in PostgreSQL: ${reason}\n`);

let server: PostgresServer | undefined;
beforeAll(async () => {
  if (!reason) server = await postgresServer();
});
afterAll(() => server?.remove());

function embedded(): StoreUnderTest {
  const path = join(temporaryDirectory(), 'svc.db');
  return {
    args: ['--data', path],
    killDatabase: undefined,
    rows: (sql) => {
      const database = new Database(path);
      const rows = database.prepare(sql.replaceAll('@', '')).raw().all();
      database.close();
      return rows.map(String);
    },
  };
}

function postgres(): StoreUnderTest {
  if (!server) throw new Error('PostgreSQL does not run');
  const { newDatabase, kill, start, query } = server;
  const url = newDatabase();
  return {
    args: ['--data', url],
    killDatabase: async () => {
      await kill('SIGKILL');
      await start();
    },
    rows: (sql) => query(url, sql.replaceAll('@', 'svc.')).split('\n').filter(Boolean),
  };
}

describe.each<[string, () => StoreUnderTest]>([
  ['an embedded database', embedded],
  ['PostgreSQL', postgres],
])('%s that two services share', (name, open) => {
  it.runIf(name !== 'PostgreSQL' || !reason)(
    'has every acknowledged write after kill -9 at random moments',
    async () => {
      const store = open();
      const cwd = temporaryDirectory();
      const startService = (): Promise<Served> => serve(['--no-auth', ...store.args], { cwd });
      const services: Served[] = [];
      for (let count = 0; count < SERVICES; count++) services.push(await startService());
      const acknowledged: Writes = { calls: [], feedback: [], jobs: [] };
      let isDone = false;
      const clients = Array.from({ length: CLIENTS }, async (_, client) => {
        for (let count = 0; !isDone; count++) {
          const url = services[(client + count) % SERVICES]?.url ?? '';
          await write(url, client === 0 ? 'jobs' : count % 2 === 0 ? 'calls' : 'feedback', acknowledged);
        }
      });
      for (let kill = 0; kill < KILLS; kill++) {
        await wait(Math.random() * MAX_WAIT_MS);
        if (store.killDatabase && kill % 3 === 0) await store.killDatabase();
        else {
          services[kill % SERVICES]?.child.kill('SIGKILL');
          services[kill % SERVICES] = await startService();
        }
      }
      isDone = true;
      await Promise.all(clients);
      for (const { child } of services) child.kill('SIGKILL');
      const stored = {
        calls: new Set(store.rows('select id from @calls')),
        feedback: new Set(store.rows('select id from @feedback')),
        jobs: new Set(store.rows('select id from @jobs')),
      };
      const lost = (['calls', 'feedback', 'jobs'] as const).flatMap((table) =>
        acknowledged[table].filter((id) => !stored[table].has(id)),
      );
      const whole = store.rows(
        `select job_id from @trajectories group by job_id
       having count(*) = ${JOB_TRAJECTORIES} and sum(length(trajectory)) > ${JOB_TRAJECTORIES * TRAJECTORY_CHARS}`,
      );
      const torn = [...stored.jobs].filter((id) => !whole.includes(id));
      const counts = Object.entries(acknowledged).map(([table, ids]) => `${ids.length} ${table}`);
      figure(
        `${name}: ${KILLS} kills, acknowledged ${counts.join(', ')}; lost ${lost.length}, torn jobs ${torn.length}`,
      );
      expect({ lost, torn }).toEqual({ lost: [], torn: [] });
      expect(Math.min(...Object.values(acknowledged).map(({ length }) => length))).toBeGreaterThan(0);
      if (name !== 'PostgreSQL') expect(store.rows('pragma integrity_check')).toEqual(['ok']);
    },
  );
});

const trajectory = `{"messages_and_choices":[{"role":"user","content":"${'x'.repeat(TRAJECTORY_CHARS)}"}],"reward":0.5}`;
const job = `{"model_id":"${modelId}","trajectory_groups":[{"trajectories":[${Array(JOB_TRAJECTORIES).fill(trajectory).join(',')}]}]}`;

const requests: { readonly [table in keyof Writes]: (id: string) => readonly [path: string, body: string] } = {
  calls: (id) => {
    const start = { project_id: 'a/b', id, trace_id: id, op_name: 'x', started_at: '2026-01-01T00:00:00Z' };
    return ['/call/start', JSON.stringify({ start: { ...start, attributes: {}, inputs: {} } })];
  },
  feedback: (id) => {
    const record = { project_id: 'a/b', feedback_id: 'none', feedback_type: 't', svc_ref: 'svc:///a/b/object/n:v', id };
    return ['/feedback/replace', JSON.stringify({ ...record, payload: {} })];
  },
  jobs: () => ['/v1/preview/training-jobs', job],
};

// What fails may or may not be stored: only a 200 promises it.
async function write(url: string, table: keyof Writes, acknowledged: Writes): Promise<void> {
  const [path, body] = requests[table](randomUUID());
  const headers = { 'Content-Type': 'application/json' };
  const result = await fetch(`${url}${path}`, { method: 'POST', headers, body })
    .then(async (response) => ({ status: response.status, text: await response.text() }))
    .catch(() => undefined);
  if (result?.status === 200) acknowledged[table].push(JSON.parse(result.text).id);
  else if (result && result.status < 500) throw new Error(`${path}: ${result.status} ${result.text}`);
  // Nothing listens until the service has started again.
  else await wait(RETRY_DELAY_MS);
}
