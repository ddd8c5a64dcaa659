import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openStore, runQueries, type Store } from '../../src/local-service/store/open-store.ts';
import { type PayloadQuery, samplePayloads } from '../../src/local-service/store/payload-sample.ts';
import { temporaryDirectory } from '../support/svc.ts';

interface Stored {
  readonly project: string;
  readonly type: string;
  readonly trigger: string | null;
  readonly time: number;
  readonly isDeleted: boolean;
}

const object = 'svc:///a/b/object/';
const stored: fc.Arbitrary<Stored> = fc.record({
  project: fc.constantFrom('a/b', 'a/b', 'a/b', 'c/d'),
  type: fc.constantFrom('t', 'u', 'ü'),
  trigger: fc.constantFrom(
    null,
    ...['m:1', 'm:2', 'm:ü', 'm:', 'm', 'm;1', 'm-2:1', 'M:1', 'n:1'].map((x) => object + x),
  ),
  time: fc.integer({ min: 0, max: 12 }),
  isDeleted: fc.boolean(),
});
const wanted: fc.Arbitrary<PayloadQuery> = fc.record({
  project: fc.constantFrom('a/b', 'c/d', 'e/f'),
  window: fc.tuple(fc.integer({ min: 0, max: 6 }), fc.integer({ min: 3, max: 13 })),
  type: fc.constantFrom(undefined, 't', 'u', 'v'),
  trigger: fc.constantFrom(
    undefined,
    { ref: `${object}m:1`, isPrefix: false },
    { ref: `${object}m:`, isPrefix: true },
    { ref: 'svc:', isPrefix: true },
  ),
  limit: fc.integer({ min: 1, max: 12 }),
});

async function storeIn(path = join(temporaryDirectory(), 'x.db')): Promise<Store> {
  const store = await openStore(path);
  onTestFinished(store.close);
  return store;
}

const PAGE = 4096;
const INSERT =
  'insert into feedback (project_id, id, feedback_type, trigger_ref, payload, record, svc_user_id, created_at)';

function fill(store: Store, rows: readonly Stored[]): void {
  store.run('delete from feedback');
  for (const [at, { project, type, trigger, time }] of rows.entries())
    store.run(
      `${INSERT} values (?, ?, ?, ?, ?, '{}', 'u', ?)`,
      project,
      String(at),
      type,
      trigger,
      `{"n":${at}}`,
      time,
    );
  for (const [at, { isDeleted }] of rows.entries())
    if (isDeleted) store.run('delete from feedback where id = ?', String(at));
}

// The rules of docs/internals/servers.md, implemented literally.
function plainly(
  rows: readonly Stored[],
  { project, window: [start, end], type, trigger, limit }: PayloadQuery,
): string[] {
  const newest = new Map<string | null, string>();
  for (const { at, trigger: found } of rows
    .map((row, place) => ({ ...row, at: place }))
    .filter((row) => !row.isDeleted && row.project === project && row.time >= start && row.time < end)
    .filter((row) => type === undefined || row.type === type)
    .filter(
      (row) => !trigger || (trigger.isPrefix ? row.trigger?.startsWith(trigger.ref) : row.trigger === trigger.ref),
    )
    .sort((left, right) => right.time - left.time || right.at - left.at)) {
    if (!newest.has(found)) newest.set(found, `{"n":${at}}`);
  }
  return [...newest.values()].slice(0, limit);
}

describe('a sample of payloads', () => {
  it('follows the rules, applied literally', async () => {
    const store = await storeIn();
    const seen = { few: 0, some: 0 };
    fc.assert(
      fc.property(
        fc.array(stored, { maxLength: 60, size: 'max' }),
        fc.array(wanted, { minLength: 8, maxLength: 8 }),
        (rows, all) => {
          store.transaction(() => fill(store, rows));
          for (const one of all) {
            const expected = plainly(rows, one);
            seen[expected.length > 1 ? 'some' : 'few'] += 1;
            expect(runQueries(samplePayloads(one), store).sort()).toEqual(expected.sort());
          }
        },
      ),
      { numRuns: 300 },
    );
    expect(seen.some).toBeGreaterThan(100);
  });

  // The cost is measured by the bytes that are read, because they are the same in every run.
  it.skipIf(!existsSync('/proc/self/io')).each<[string, string, Partial<PayloadQuery>]>([
    ['where each payload has a trigger of its own', 'i', {}],
    ['of the older type', 'i', { type: 't1' }],
    ['of a window in the past', 'i', { window: [1, 4000] }],
    ['where many have the same few triggers', 'i % 300', {}],
    ['of the older type, of few triggers', 'i % 300', { type: 't1' }],
    ['where most have no trigger', 'iif(i % 20, null, i % 400)', {}],
    ['of a trigger', 'i % 300', { trigger: { ref: `${object}m:7`, isPrefix: false } }],
    ['of the versions of a monitor', 'i % 300', { trigger: { ref: `${object}m:`, isPrefix: true } }],
    ['of a rare monitor', 'iif(i % 1000 = 500, 1, null)', { trigger: { ref: `${object}m:`, isPrefix: true } }],
    ['of many versions of a monitor', 'i', { trigger: { ref: `${object}m:`, isPrefix: true } }],
  ])('%s costs the same, however many are stored', async (_, trigger, more) => {
    const read: number[] = [];
    for (const size of [5000, 100_000]) {
      const path = join(temporaryDirectory(), 'x.db');
      const filled = await storeIn(path);
      filled.run(
        `with recursive n (i) as (select 1 union all select i + 1 from n where i < ?)
         ${INSERT} select 'a/b', i, 't' || (i <= ${size / 2}), '${object}m:' || (${trigger}), '{"n":1}', '{}', 'u', i from n`,
        size,
      );
      const opened = await storeIn(path);
      // The integrity check has read all of a small database.
      opened.all('pragma shrink_memory');
      const before = bytesRead();
      const query = { project: 'a/b', type: undefined, trigger: undefined, limit: 100, ...more };
      runQueries(samplePayloads({ ...query, window: more.window ?? [1, size + 1] }), opened);
      read.push(bytesRead() - before);
    }
    const [small = 0, large = 0] = read;
    // What is sampled lies farther apart in a large one; all of it together would be megabytes.
    expect(large).toBeLessThan(1.5 * small + 50 * PAGE);
  });
});

function bytesRead(): number {
  return Number(/^rchar: (\d+)/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);
}
