import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { uuidV7 } from '../../src/fields/uuid.ts';
import { collectBody } from '../../src/http/body-chunks.ts';
import { openLocalService } from '../../src/local-service/open-local-service.ts';
import {
  createEmbeddedStore,
  deleteAbandonedTrajectories,
  openStore,
  saveTrajectories,
} from '../../src/local-service/store/open-store.ts';
import type { StagedTrajectory } from '../../src/local-service/store/service-store.ts';
import { temporaryDirectory } from '../support/svc.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const now = Date.UTC(2026, 5, 1);
const newId = (time: number): string => uuidV7(time, new Uint8Array(10));

function* trajectories(count: number, bytes: number): Generator<StagedTrajectory> {
  for (let index = 0; index < count; index++) yield { group: 0, index, bytes: Buffer.alloc(bytes) };
}

async function database() {
  const store = await openStore(join(temporaryDirectory(), 'svc.db'));
  onTestFinished(store.close);
  let largest = 0;
  const counted: typeof store = {
    ...store,
    transaction: (action) => {
      const before = Number(store.first('select count(*) as n from trajectories')?.n);
      const result = store.transaction(action);
      const count = Number(store.first('select count(*) as n from trajectories')?.n);
      largest = Math.max(largest, Math.abs(count - before));
      return result;
    },
  };
  const count = (id: string): unknown => store.first('select count(*) as n from trajectories where job_id = ?', id)?.n;
  return { store, counted, count, largestTransaction: () => largest };
}

describe('the trajectories of a job', () => {
  it('are stored in transactions of bounded size, and the job after them', async () => {
    const { counted, count, store, largestTransaction } = await database();
    const id = newId(now);
    const job = { id, model_id: 'm', experimental_config: null, created_at: now };
    await createEmbeddedStore(counted).saveJob(job, () => trajectories(40, 256 * 1024), undefined);
    expect(count(id)).toBe(40);
    expect(store.first('select id from jobs')).toMatchObject({ id });
    expect(largestTransaction()).toBeLessThanOrEqual(4);
  });

  it('leave time for whole requests between the transactions', async () => {
    const { counted } = await database();
    const store = createEmbeddedStore(counted);
    const clock = { now: () => now, elapsed: () => 0, randomBytes: (count: number) => randomBytes(count) };
    const { send } = await openLocalService({ databaseFile: join(temporaryDirectory(), 'other.db'), store }, clock);
    let isStored = false;
    const job = { id: newId(now), model_id: 'm', experimental_config: null, created_at: now };
    const saving = store
      .saveJob(job, () => trajectories(100, 256 * 1024), undefined)
      .then(() => {
        isStored = true;
      });
    let answered = 0;
    for (; !isStored; answered++) {
      const start = { project_id: 'a/b', op_name: 'x', started_at: '2026-01-01T00:00:00Z', attributes: {}, inputs: {} };
      const response = await send({
        method: 'POST',
        url: 'http://localhost/call/start',
        headers: [['content-type', 'application/json']],
        body: Buffer.from(JSON.stringify({ start })),
      });
      await collectBody(response.body, 1e6);
    }
    await saving;
    // 26 transactions.
    expect(answered).toBeGreaterThan(20);
  });

  it('are removed in such transactions where the job is aborted', async () => {
    const { store, counted, count, largestTransaction } = await database();
    const controller = new AbortController();
    const id = newId(now);
    const aborting = function* (): Generator<StagedTrajectory> {
      for (const one of trajectories(40, 256 * 1024)) {
        if (one.index === 20) controller.abort(new Error('enough'));
        yield one;
      }
    };
    const job = { id, model_id: 'm', experimental_config: null, created_at: now };
    await expect(createEmbeddedStore(counted).saveJob(job, aborting, controller.signal)).rejects.toThrow('enough');
    expect(largestTransaction()).toBeLessThanOrEqual(4);
    expect([count(id), store.all('select id from jobs')]).toEqual([0, []]);
  });

  it('are removed later where the service was killed, but not while another one may be storing them', async () => {
    const { store, count } = await database();
    const [old, recent, complete] = [newId(now - 2 * DAY_MS), newId(now - 1000), newId(now - 3 * DAY_MS)];
    for (const id of [old, recent, complete]) await saveTrajectories(id, trajectories(5000, 10), undefined, store);
    store.run("insert into jobs (id, model_id, created_at) values (?, 'm', 1)", complete);
    await deleteAbandonedTrajectories(now, store);
    expect([old, recent, complete].map(count)).toEqual([0, 5000, 5000]);
  });
});
