import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createGroupCommit, openStore, type Store } from '../../src/local-service/store/open-store.ts';
import { serve } from '../support/process.ts';
import { localService } from '../support/service.ts';
import { temporaryDirectory } from '../support/svc.ts';

const call = (id: string): string =>
  `{"start":{"project_id":"a/b","id":"${id}","trace_id":"${id}","op_name":"x","started_at":"2026-01-01T00:00:00Z","attributes":{},"inputs":{"i":"${id}"}}}`;
const feedback = (id: string): string =>
  `{"project_id":"a/b","feedback_id":"none","feedback_type":"t","svc_ref":"svc:///a/b/object/n:v","id":"${id}","payload":{}}`;
const ids = (count: number): string[] =>
  Array.from({ length: count }, (_, at) => `0199f3c0-5f3a-7c21-9b6e-${String(at).padStart(12, '0')}`);
const headers = { 'Content-Type': 'application/json' };

/** A database, its commits, and how many transactions there were. */
async function database() {
  const path = join(temporaryDirectory(), 'x.db');
  const store = await openStore(path);
  const other = new Database(path);
  onTestFinished(() => void [store, other].map((one) => one.close()));
  let transactions = 0;
  const counted: Store = {
    ...store,
    transaction: (action) => {
      transactions += 1;
      return store.transaction(action);
    },
  };
  const add = (id: string): void =>
    void store.run('insert into jobs (id, model_id, created_at) values (?, ?, 1)', id, 'm');
  const stored = (): unknown[] => other.prepare('select id from jobs order by id').pluck().all();
  return { path, store, counted, add, stored, transactions: () => transactions };
}

// The last frame of each commit in the write-ahead log has the size of the database (file format, 4.1).
function commitsOf(path: string): number {
  const log = readFileSync(`${path}-wal`);
  if (log.length === 0) return 0;
  const frameBytes = 24 + log.readUInt32BE(8);
  let count = 0;
  for (let at = 32; at < log.length; at += frameBytes) if (log.readUInt32BE(at + 4) > 0) count += 1;
  return count;
}

describe('commits that are requested at once', () => {
  it('share a transaction, and each is durable when it is acknowledged', async () => {
    const { counted, add, stored, transactions } = await database();
    const commit = createGroupCommit(counted);
    const all = ids(100);
    const commits = all.map((id) =>
      commit(() => add(id), undefined).then(() => {
        expect(stored()).toContain(id);
      }),
    );
    expect(stored()).toEqual([]);
    await Promise.all(commits);
    expect(stored()).toEqual(all);
    expect(transactions()).toBe(1);
  });

  it('are not delayed by an endless stream of others', async () => {
    const { store, add, stored } = await database();
    const commit = createGroupCommit(store);
    let isOver = false;
    const others: Promise<void>[] = [];
    const stream = async (): Promise<void> => {
      while (!isOver) {
        others.push(commit(() => {}, undefined));
        await new Promise(setImmediate);
      }
    };
    const streaming = stream();
    await commit(() => add('a'), undefined);
    isOver = true;
    await streaming;
    await Promise.all(others);
    expect(stored()).toEqual(['a']);
  });

  it('fail individually: an action that throws is rolled back, all others are committed', async () => {
    const { counted, add, stored } = await database();
    const commit = createGroupCommit(counted);
    const outcomes = await Promise.allSettled([
      commit(() => add('a'), undefined),
      commit(() => {
        add('half');
        throw new Error('no');
      }, undefined),
      commit(() => add('a'), undefined),
      commit(() => {
        add('b');
        return 'value';
      }, undefined),
    ]);
    expect(outcomes).toMatchObject([
      { status: 'fulfilled' },
      { reason: new Error('no') },
      { reason: { code: expect.stringContaining('CONSTRAINT') } },
      { value: 'value' },
    ]);
    expect(stored()).toEqual(['a', 'b']);
  });

  it('leave out actions that were aborted while they waited', async () => {
    const { counted, add, stored } = await database();
    const commit = createGroupCommit(counted);
    const controller = new AbortController();
    const outcomes = Promise.allSettled([
      commit(() => add('a'), controller.signal),
      commit(() => add('b'), new AbortController().signal),
    ]);
    controller.abort(new Error('enough'));
    expect(await outcomes).toMatchObject([{ reason: new Error('enough') }, { status: 'fulfilled' }]);
    expect(stored()).toEqual(['b']);
  });

  it('learn at once that the database is busy, not one after the other', async () => {
    const { path, counted, transactions } = await database();
    const [writer, impatient] = [new Database(path), new Database(path)];
    onTestFinished(() => void [writer, impatient].map((one) => one.close()));
    const commit = createGroupCommit({
      ...counted,
      transaction: (action) =>
        counted.transaction(() => {
          // With the lock held here, another connection fails as this one would after its timeout.
          impatient.exec('begin immediate');
          return action();
        }),
    });
    const outcomes = await Promise.allSettled(ids(5).map((id) => commit(() => id, undefined)));
    expect(outcomes).toMatchObject(ids(5).map(() => ({ reason: { reason: 'busy' } })));
    expect(transactions()).toBe(1);
  });
});

describe.each([
  ['/call/start', call, 'calls'],
  ['/feedback/replace', feedback, 'feedback'],
] as const)('%s', (path, body, table) => {
  it('commits concurrent requests together', async () => {
    const data = join(temporaryDirectory(), 'svc.db');
    const { send } = await localService({ databaseFile: data });
    const before = commitsOf(data);
    const replies = await Promise.all(
      ids(100).map((id) =>
        send({
          method: 'POST',
          url: `http://localhost${path}`,
          headers: Object.entries(headers),
          body: Buffer.from(body(id)),
        }),
      ),
    );
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
    expect(commitsOf(data) - before).toBe(1);
  });

  it('has stored every acknowledged request when it is killed', async () => {
    const cwd = temporaryDirectory();
    const { url, child } = await serve(['--no-auth'], { cwd });
    const answered: string[] = [];
    await Promise.allSettled(
      ids(300).map(async (id) => {
        const reply = await fetch(`${url}${path}`, { method: 'POST', headers, body: body(id) });
        if (reply.status === 200) answered.push(id);
        if (answered.length > 40) child.kill('SIGKILL');
      }),
    );
    const store = await openStore(join(cwd, 'data', 'svc.db'));
    onTestFinished(store.close);
    const stored = new Set(store.all(`select id from ${table}`).map(({ id }) => id));
    expect(answered.length).toBeGreaterThan(40);
    expect(answered.filter((id) => !stored.has(id))).toEqual([]);
  });
});
