import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parsePostgresUrl } from '../../src/config/postgres-address.ts';
import { collectBody } from '../../src/http/body-chunks.ts';
import {
  type LocalServiceOptions,
  openLocalService,
  openServiceStore,
} from '../../src/local-service/open-local-service.ts';
import { insertRows, select } from '../../src/local-service/store/row-query.ts';
import { deleteFeedback, pruneStore } from '../../src/local-service/store/service-store.ts';
import { filePostgres } from '../support/file-postgres.ts';
import { temporaryDirectory } from '../support/svc.ts';

const { reason, server } = filePostgres('the store in PostgreSQL');

const stores: readonly [string, () => Partial<LocalServiceOptions>][] = [
  ['an embedded database', () => ({})],
  [
    'PostgreSQL',
    () => ({
      postgres: { address: parsePostgresUrl(server()?.newDatabase() ?? '', 'svc'), password: undefined },
    }),
  ],
];

/** Sends bodies to a service on a store. */
async function service(options: Partial<LocalServiceOptions>) {
  return (await openService(options)).post;
}

async function openService(options: Partial<LocalServiceOptions>) {
  let now = Date.UTC(2026, 0, 1);
  const { send, close } = await openLocalService(
    { databaseFile: join(temporaryDirectory(), 'svc.db'), ...options },
    { now: () => (now += 1000), randomBytes },
  );
  onTestFinished(close);
  const post = async (path: string, body: unknown): Promise<{ status: number; json: Record<string, unknown> }> => {
    const response = await send({
      method: 'POST',
      url: `http://localhost${path}`,
      headers: [['content-type', 'application/json']],
      body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
    });
    return { status: response.status, json: JSON.parse((await collectBody(response.body, 1e9)).toString()) };
  };
  const get = async (path: string): Promise<string> => {
    const response = await send({ method: 'GET', url: `http://localhost${path}`, headers: [], body: new Uint8Array() });
    return (await collectBody(response.body, 1e9)).toString();
  };
  return { post, get };
}

const feedback = (more: object) => ({
  ...{ project_id: 'a/b', feedback_id: 'none', feedback_type: 't', svc_ref: 'svc:///a/b/object/n:v' },
  ...more,
});
const call = (more: object) => ({
  start: { project_id: 'a/b', op_name: 'x', started_at: '2026-01-01T00:00:00Z', attributes: {}, inputs: {}, ...more },
});
const callId = (at: number): string => `0199f3c0-5f3a-7c21-9b6e-${String(at).padStart(12, '0')}`;
const trigger = (name: string): string => `svc:///a/b/object/${name}`;

describe.each(stores)('a service on %s', (name, options) => {
  it.runIf(name !== 'PostgreSQL' || !reason)('deletes a feedback record of a project', async () => {
    const { postgres, trust } = options();
    const store = await openServiceStore({ databaseFile: join(temporaryDirectory(), 'svc.db'), postgres, trust }, 0);
    onTestFinished(store.close);
    const record = { feedback_type: 't', payload: '{}', record: '{}', svc_user_id: 'u', created_at: 1 };
    for (const [project_id, id] of [
      ['a/b', 'x'],
      ['a/b', 'y'],
      ['c/d', 'x'],
    ] as const)
      await store.commit(() => insertRows('feedback', [{ ...record, project_id, id }]));
    await store.commit(() => deleteFeedback([{ project_id: 'a/b', id: 'x' }]));
    const sql = 'select project_id, id from @feedback order by project_id';
    expect(await store.readRows({ sql, values: [] })).toEqual([
      { project_id: 'a/b', id: 'y' },
      { project_id: 'c/d', id: 'x' },
    ]);
  });

  it.runIf(name !== 'PostgreSQL' || !reason)('removes the records before a time, and no others', async () => {
    const { postgres, trust } = options();
    const store = await openServiceStore({ databaseFile: join(temporaryDirectory(), 'svc.db'), postgres, trust }, 0);
    onTestFinished(store.close);
    const trajectories = function* () {
      for (let index = 0; index < 150; index++) yield { group: 0, index, bytes: Buffer.from('{}') };
    };
    const table = <T>(make: (id: string, created_at: number) => T): T[] =>
      Array.from({ length: 140 }, (_, at) => make(`id-${at}`, at));
    const key = { project_id: 'a/b', trace_id: 't', start: '{}' };
    const record = { project_id: 'a/b', feedback_type: 't', payload: '{}', record: '{}', svc_user_id: 'u' };
    const chat = { request: '{}', response: '{}', status: 200, duration_ms: 1 };
    for (const [name, rows] of [
      ['calls', table((id, created_at) => ({ ...key, id, created_at }))],
      ['feedback', table((id, created_at) => ({ ...record, id, created_at }))],
      ['chats', table((id, created_at) => ({ ...chat, id, created_at }))],
    ] as const)
      await store.commit(() => insertRows(name, rows));
    for (const [id, created_at] of [
      ['old', 1],
      ['new', 130],
    ] as const)
      await store.saveJob({ id, model_id: 'm', experimental_config: null, created_at }, trajectories, undefined);
    const signal = new AbortController().signal;
    expect(await pruneStore(store, 130, signal)).toBe(3 * 130 + 1);
    expect(await pruneStore(store, 130, signal)).toBe(0);
    const counts = ['calls', 'feedback', 'chats', 'jobs', 'trajectories'].map(async (table) => {
      const [row] = await store.readRows(select({ count: 'count(*)' }, `from @${table}`, []));
      return Number(row?.count);
    });
    expect(await Promise.all(counts)).toEqual([10, 10, 10, 1, 150]);
    const times = await store.readRows(select({ oldest: 'min(created_at)' }, 'from @calls', []));
    expect(Number(times[0]?.oldest)).toBe(130);
  });

  it.runIf(name !== 'PostgreSQL' || !reason)('merges calls by id, alone and together', async () => {
    const post = await service(options());
    const [id, trace_id] = [callId(1), callId(2)];
    expect((await post('/call/start', call({ id, trace_id }))).json).toEqual({ id, trace_id });
    // Without a trace id the stored one stays; null counts as absent.
    expect((await post('/call/start', call({ id, display_name: 'b' }))).json).toEqual({ id, trace_id });
    const together = await Promise.all(
      Array.from({ length: 300 }, (_, at) =>
        post('/call/start', call({ id: callId(at % 150), display_name: `${at}` })),
      ),
    );
    expect(new Set(together.map(({ status }) => status))).toEqual(new Set([200]));
    const traces = new Map<unknown, Set<unknown>>();
    for (const { json } of together) traces.set(json.id, (traces.get(json.id) ?? new Set()).add(json.trace_id));
    expect([...traces.values()].map((ids) => ids.size)).toEqual(Array.from({ length: 150 }, () => 1));
  });

  it.runIf(name !== 'PostgreSQL' || !reason)(
    'replaces feedback and samples the newest payload per trigger',
    async () => {
      const post = await service(options());
      const paths = async (more: object = {}): Promise<unknown> =>
        (await post('/feedback/payload_schema', { project_id: 'a/b', start: '2026-01-01T00:00:00Z', ...more })).json
          .paths;
      const first = await post('/feedback/replace', feedback({ payload: { a: 12_345 } }));
      await post('/feedback/replace', feedback({ feedback_id: first.json.id, payload: { b: 1 } }));
      expect(await paths()).toEqual([{ json_path: 'b', value_type: 'numeric' }]);
      for (const [at, ref] of ['m:1', 'm:1', 'm:2', 'm-2:1', 'z:1'].entries())
        await post('/feedback/replace', feedback({ trigger_ref: trigger(ref), payload: { [`p${at}`]: true } }));
      const names = async (more: object): Promise<unknown[]> =>
        ((await paths(more)) as { json_path: string }[]).map(({ json_path }) => json_path);
      expect(await names({})).toEqual(['b', 'p1', 'p2', 'p3', 'p4']);
      expect(await names({ trigger_ref: trigger('m:*') })).toEqual(['p1', 'p2', 'p3']);
      expect(await names({ trigger_ref: trigger('m:1') })).toEqual(['p1']);
      expect(await names({ sample_limit: 2 })).toEqual(['p3', 'p4']);
      expect(await names({ feedback_type: 'u' })).toEqual([]);
      for (let at = 0; at < 40; at++)
        await post('/feedback/replace', feedback({ trigger_ref: trigger('busy:1'), payload: { busy: at } }));
      // The newest rows have one trigger only, so the index is searched trigger by trigger.
      expect(await names({ sample_limit: 3 })).toEqual(['busy', 'p3', 'p4']);
      expect(await names({ sample_limit: 9 })).toEqual(['b', 'busy', 'p1', 'p2', 'p3', 'p4']);
    },
  );

  it.runIf(name !== 'PostgreSQL' || !reason)('keeps one record per id when many arrive at once', async () => {
    const post = await service(options());
    const all = await Promise.all(
      Array.from({ length: 100 }, (_, at) =>
        post(
          '/feedback/replace',
          feedback({
            ...{ id: `f${at % 10}`, feedback_id: `f${(at + 1) % 10}`, trigger_ref: trigger(`k:${at % 10}`) },
            payload: { [`x${at}`]: true },
          }),
        ),
      ),
    );
    expect(new Set(all.map(({ status }) => status))).toEqual(new Set([200]));
    // In order of arrival: the last of each id, but for the one that the very last replaced.
    const schema = await post('/feedback/payload_schema', { project_id: 'a/b', start: '2026-01-01T00:00:00Z' });
    const kept = Array.from({ length: 9 }, (_, at) => `x${at + 91}`);
    expect(schema.json.paths).toMatchObject(kept.map((json_path) => ({ json_path })));
  });

  it.runIf(name !== 'PostgreSQL' || !reason)('stores training jobs', async () => {
    const post = await service(options());
    const trajectories = Array.from({ length: 1200 }, (_, at) => ({ reward: at, logs: ['ä"\\'.repeat(300)] }));
    const job = { model_id: callId(1), trajectory_groups: [{ trajectories }] };
    expect(await post('/v1/preview/training-jobs', job)).toMatchObject({ json: { id: expect.stringMatching(/^0/) } });
  });
});

describe.each(stores)('the data of the page on %s', (name, options) => {
  it.runIf(name !== 'PostgreSQL' || !reason)('is read in pages, searched, and exported', async () => {
    const { post, get } = await openService(options());
    const count = 2300;
    for (let at = 0; at < count; at += 100)
      await Promise.all(
        Array.from({ length: 100 }, (_, index) =>
          post('/call/start', call({ id: callId(at + index), inputs: { text: `n${at + index}_%` } })),
        ),
      );
    const seen: string[] = [];
    const list = async (table: string, q: string): Promise<{ id: string }[]> => {
      const all: { id: string }[] = [];
      for (let before = ''; ; ) {
        const { rows, next } = JSON.parse(await get(`/page/${table}?q=${q}${before}`));
        all.push(...rows);
        if (next === null) return all;
        before = `&before=${encodeURIComponent(next)}`;
      }
    };
    for (const { id } of await list('calls', '')) seen.push(id);
    expect(seen).toHaveLength(count);
    expect(new Set(seen).size).toBe(count);
    expect((await list('calls', 'N7_%25')).map(({ id }) => id)).toEqual([callId(7)]);
    expect(await list('calls', 'n7__')).toEqual([]);
    const lines = (await get('/page/export?table=calls')).trim().split('\n');
    expect(lines.map((line) => JSON.parse(line).id)).toEqual(seen);
    for (const cursor of ['x', '[]', '[1]', '["a","b"]', 'null'])
      expect(JSON.parse(await get(`/page/calls?before=${encodeURIComponent(cursor)}`)).rows).toHaveLength(50);
    const text = 'say "hi" from ÉCOLE, Grüße, Привет Мир';
    const escaped = JSON.stringify(text).replace(
      /[\u0080-\uffff]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
    const body = JSON.stringify(call({ id: callId(count), inputs: { text: 'TEXT' } }));
    await post('/call/start', body.replace('"TEXT"', escaped));
    await post('/call/start', call({ id: callId(count + 1), inputs: { text: text } }));
    const found = [callId(count + 1), callId(count)];
    for (const q of [
      'ÉCOLE',
      'école',
      'from é',
      'SAY "HI"',
      'Grüße',
      'GRÜ',
      'Привет',
      'привет мир',
      'МИР',
      'école, GRüße',
    ])
      expect((await list('calls', encodeURIComponent(q))).map(({ id }) => id).sort(), q).toEqual(found.toSorted());
  });

  it.runIf(name !== 'PostgreSQL' || !reason)('has traces, trajectories, payload paths and chats', async () => {
    const { post, get } = await openService(options());
    for (const at of [1, 2, 3]) await post('/call/start', call({ id: callId(at), trace_id: callId(9) }));
    for (const [at, payload] of [
      [1, { exit_code: 1, duration_ms: 1500 }],
      [2, { note: 'x', score: 0.5 }],
    ] as const)
      await post('/feedback/replace', feedback({ svc_ref: `svc:///a/b/call/${callId(at)}`, payload }));
    const seen = { durationMs: null, failed: false, feedback: [], op: 'x', name: 'x', project_id: 'a/b', parent: null };
    expect(JSON.parse(await get(`/page/trace?id=${callId(9)}`))).toMatchObject({
      calls: [
        { ...seen, id: callId(1), durationMs: 1500, failed: true, feedback: ['t exit_code=1'] },
        { ...seen, id: callId(2), feedback: ['t score=0.5'] },
        { ...seen, id: callId(3) },
      ],
      total: 3,
    });
    const [row] = JSON.parse(await get('/page/calls')).rows;
    const all = ['t exit_code=1', 't score=0.5'];
    expect(row).toMatchObject({ trace: callId(9), calls: 3, durationMs: 1500, failed: 1, feedback: all });
    const record = async (at: number) => JSON.parse(await get(`/page/record?table=calls&project=a/b&id=${callId(at)}`));
    expect(await record(1)).toMatchObject({ row: { id: callId(1) }, feedback: [{ feedback_type: 't' }] });
    expect(await record(4)).toEqual({ row: null, feedback: [] });
    expect(JSON.parse(await get('/page/jobs')).totals).toEqual({
      ...{ traces: '1', calls: '3', feedback: '2', jobs: '0', chats: '0' },
    });
    const ids = async (query: string): Promise<unknown> =>
      JSON.parse(await get(`/page/${query}`)).rows.map(({ id }: { id: string }) => id);
    expect(await ids('calls?op=x')).toEqual([callId(1)]);
    expect(await ids('calls?op=y')).toEqual([]);
    expect(await ids('calls?project=a/b')).toEqual([callId(1)]);
    expect(await ids('calls?project=a')).toEqual([]);
    const [first, second] = (await ids('feedback?type=t&user=local')) as string[];
    expect(await ids('feedback?user=other')).toEqual([]);
    const createdAt = JSON.parse(await get('/page/feedback')).rows[0].created_at;
    expect(await ids(`feedback?from=${createdAt}`)).toEqual([first]);
    expect(await ids(`feedback?until=${createdAt}`)).toEqual([second]);
    const rewards = Array.from({ length: 70 }, (_, at) => at / 2);
    const group = { trajectories: rewards.map((reward) => ({ reward, logs: [] })) };
    const choice = {
      message: { role: 'assistant', content: 'a b' },
      finish_reason: 'stop',
      logprobs: { content: ['a', ' b'].map((token) => ({ token, logprob: -1, bytes: null, top_logprobs: [] })) },
    };
    const messages_and_choices = [{ role: 'user', content: 'x' }, choice, choice];
    const last = { reward: -1, final_policy_version: 7, messages_and_choices };
    const job = { model_id: callId(1), trajectory_groups: [group, { trajectories: [last] }] };
    const { id } = (await post('/v1/preview/training-jobs', job)).json;
    // The figures and the texts of the findings in what the page draws.
    const lintOf = async (jobId: unknown): Promise<[figures: unknown[], texts: unknown[]]> => {
      const [[, , figures], ...others] = JSON.parse(await get(`/page/lint?job=${jobId}`));
      return [
        figures.flatMap((figure: [string, object, [string, object, string[]][]]) => figure[2][1]?.[2]),
        others.flat(9),
      ];
    };
    const [figures, texts] = await lintOf(id);
    expect(figures.slice(0, 5)).toEqual(['2', '1', '71', '71', '0']);
    const token = 'trajectory_groups[1].trajectories[0].messages_and_choices[1].logprobs.content[0].token';
    expect(texts).toEqual(expect.arrayContaining([token, '"a" is not token_id:<n> (and 3 more like this)']));
    // What the parsers of databases reject or read in another way.
    const deep = `${'['.repeat(3000)}${']'.repeat(3000)}`;
    const odd = [
      `{"reward":1,"logs":["\\ud83d"]}`,
      `{"reward":1e400}`,
      `{"reward":2,"x":${deep}}`,
      '{"reward":3,"reward":4}',
    ];
    const oddJob = `{"model_id":"${callId(1)}","trajectory_groups":[{"trajectories":[${odd.join(',')}]}]}`;
    const oddId = (await post('/v1/preview/training-jobs', oddJob)).json.id;
    expect((await lintOf(oddId))[0].slice(0, 5)).toEqual(['1', '0', '4', '4', '0']);
    const large = { trajectories: Array.from({ length: 2100 }, () => ({ reward: 1 })) };
    const largeId = (await post('/v1/preview/training-jobs', { model_id: callId(1), trajectory_groups: [large] })).json
      .id;
    expect((await lintOf(largeId))[0].slice(0, 5)).toEqual(['1', '1', '2,100', '2,100', '0']);
    const [same, strange, wide] = JSON.parse(await get('/page/jobs')).rows;
    expect([same.rewards, strange.rewards]).toEqual([
      '{"groups":1,"without signal":1,"trajectories":2100,"rewards":2100,"mean":1,"min":1,"max":1,"bars":[2100]}',
      expect.stringMatching(/"rewards":4,"mean":2.\d+,"min":1,"max":1e400,"bars":\[1,/),
    ]);
    expect(JSON.parse(wide.rewards)).toMatchObject({ groups: 2, min: -1, max: 34.5, mean: (35 * 69 * 0.5 - 1) / 71 });
    await post('/feedback/replace', feedback({ project_id: 'c/d', payload: { a: { b: 1 } } }));
    expect(JSON.parse(await get('/page/feedback?project=c/d')).paths).toEqual([{ path: 'a.b', type: 'numeric' }]);
    const request = '{"messages": [{"role":"user","content":"x"}], "seed": 9007199254740993}';
    const { json } = await post('/v1/chat/completions', request);
    const [chat] = JSON.parse(await get('/page/chats')).rows;
    const { usage, model } = json as { usage: Record<string, number>; model: string };
    const tokens = { promptTokens: usage.prompt_tokens, completionTokens: usage.completion_tokens };
    expect(chat).toMatchObject({ title: 'x', status: 200, model, ...tokens, finish: 'stop', error: '' });
    expect(chat.durationMs).toBeGreaterThanOrEqual(0);
    expect(await ids(`chats?status=200&model=none`)).toEqual([]);
    const { row: stored } = JSON.parse(await get(`/page/record?table=chats&id=${chat.id}`));
    expect([stored.request, JSON.parse(stored.response)]).toEqual([request, json]);
    expect((await get('/page/export?table=jobs')).split('\n')).toHaveLength(4);
  });
});

describe.skipIf(reason)('a service on PostgreSQL', () => {
  const open = (url: string) => service({ postgres: { address: parsePostgresUrl(url, 'svc'), password: undefined } });

  it('shares its database with other services, started at the same time', async () => {
    const url = server()?.newDatabase() ?? '';
    const posts = await Promise.all([open(url), open(url), open(url)]);
    const ids = Array.from({ length: 200 }, (_, at) => callId(at));
    const responses = await Promise.all(
      ids.flatMap((id) => posts.map((post, at) => post('/call/start', call({ id, svc_run_id: `r${at}` })))),
    );
    expect(responses.every(({ status }) => status === 200)).toBe(true);
    expect(server()?.query(url, 'select count(*) from svc.calls')).toBe('200');
    const feedbacks = posts.flatMap((post) =>
      ids.map((id) => post('/feedback/replace', feedback({ id: id.slice(-2), feedback_id: id, payload: {} }))),
    );
    expect(new Set((await Promise.all(feedbacks)).map(({ status }) => status))).toEqual(new Set([200]));
  });

  it('responds 503 with nothing half-stored while the database is down, and recovers', async () => {
    const url = server()?.newDatabase() ?? '';
    const post = await open(url);
    const stored: string[] = [];
    const save = async (at: number): Promise<number> => {
      const { status } = await post('/call/start', call({ id: callId(at) }));
      if (status === 200) stored.push(callId(at));
      return status;
    };
    expect(await save(0)).toBe(200);
    const during = Array.from({ length: 50 }, (_, at) => save(at + 1));
    await server()?.kill();
    for (const status of await Promise.all(during)) expect([200, 503]).toContain(status);
    expect(await save(100)).toBe(503);
    const job = { model_id: callId(1), trajectory_groups: [{ trajectories: [{ reward: 1 }] }] };
    expect((await post('/v1/preview/training-jobs', job)).status).toBe(503);
    await server()?.start();
    let status = 503;
    for (let at = 200; status === 503; at++) status = await save(at);
    expect(status).toBe(200);
    const rows = new Set(server()?.query(url, 'select id from svc.calls').split('\n'));
    expect(stored.filter((id) => !rows.has(id))).toEqual([]);
    expect(server()?.query(url, 'select count(*) from svc.jobs')).toBe('0');
  }, 60_000);

  it('refuses ids that PostgreSQL cannot hold, and stores the others of the batch', async () => {
    const post = await open(server()?.newDatabase() ?? '');
    const responses = await Promise.all(
      ['a', 'a\u0000b', 'c'].map((id) => post('/feedback/replace', feedback({ id, payload: {} }))),
    );
    expect(responses.map(({ status }) => status)).toEqual([200, 400, 200]);
  });
});
