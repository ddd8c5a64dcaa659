import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { collectBody } from '../../src/http/body-chunks.ts';
import type { Send } from '../../src/http/message.ts';
import { inferPayloadPaths } from '../../src/local-service/handlers/records.ts';
import { localService } from '../support/service.ts';

async function post(
  send: Send,
  path: string,
  body: unknown,
): Promise<{ status: number; json: Record<string, unknown>; text: string }> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const reply = await send({
    method: 'POST',
    url: `http://localhost${path}`,
    headers: [['content-type', 'application/json']],
    body: Buffer.from(text),
  });
  const answer = (await collectBody(reply.body, 1e9)).toString();
  return { status: reply.status, text: answer, json: answer.startsWith('{') ? JSON.parse(answer) : {} };
}

const record = (more: object = {}) => ({
  project_id: 'a/b',
  feedback_id: 'f-0',
  feedback_type: 't',
  svc_ref: 'svc:///a/b/object/n:v',
  payload: { score: 1 },
  ...more,
});
const monitor = (name: string): string => `svc:///a/b/object/${name}`;

/** A service whose clock advances by a second with each reading. */
async function ticking() {
  let now = Date.UTC(2026, 0, 1);
  const service = await localService({ now: () => (now += 1000) });
  const paths = async (more: object = {}): Promise<string[]> => {
    const { json, text } = await post(service.send, '/feedback/payload_schema', {
      project_id: 'a/b',
      start: '2026-01-01T00:00:00Z',
      ...more,
    });
    if (!Array.isArray(json.paths)) throw new Error(text);
    return json.paths.map(({ json_path, value_type }) => `${json_path}:${value_type}`);
  };
  const replace = (more: object = {}) => post(service.send, '/feedback/replace', record(more));
  return { ...service, paths, replace };
}

describe('feedback replace', () => {
  it('removes the row of the project that has the feedback id, and stores a new one', async () => {
    const { replace, paths } = await ticking();
    const first = await replace({ payload: { a: 1 } });
    expect(first.status).toBe(200);
    expect(first.json.id).not.toBe('f-0');
    await replace({ feedback_id: first.json.id, payload: { b: 1 } });
    expect(await paths()).toEqual(['b:numeric']);
    await replace({ feedback_id: first.json.id, payload: { c: 1 }, trigger_ref: monitor('m:1') });
    expect(await paths()).toEqual(['b:numeric', 'c:numeric']);
  });

  it('replaces a stored id that is sent again, in its project only', async () => {
    const { replace, paths } = await ticking();
    for (const payload of [{ a: 1 }, { b: 1 }]) {
      const { json } = await replace({ id: 'mine', payload });
      expect(json).toMatchObject({ id: 'mine', payload, svc_user_id: 'local' });
    }
    await replace({ id: 'mine', project_id: 'c/d', payload: { other: 1 } });
    expect(await paths()).toEqual(['b:numeric']);
  });

  it('a rejected replacement leaves the old row', async () => {
    const { replace, paths } = await ticking();
    await replace({ id: 'mine', payload: { a: 1 } });
    expect((await replace({ feedback_id: 'mine', unknown: 1 })).status).toBe(422);
    expect((await replace({ feedback_id: 'mine', payload: { big: 'x'.repeat(1024 * 1024) } })).status).toBe(400);
    expect((await replace({ feedback_id: 'mine', svc_ref: 'x' })).json).toMatchObject({
      detail: [{ loc: ['body', 'svc_ref'] }],
    });
    expect(await paths()).toEqual(['a:numeric']);
  });

  it('returns the payload digit for digit', async () => {
    const { send } = await ticking();
    const body = JSON.stringify(record()).replace('{"score":1}', '{"n":9007199254740993,"f":1.0,"e":1e400}');
    expect((await post(send, '/feedback/replace', body)).text).toContain(
      '"payload":{"n":9007199254740993,"f":1.0,"e":1e400}',
    );
  });
});

describe('feedback schema', () => {
  it('samples the newest payload of each trigger, the newest triggers first', async () => {
    const { replace, paths } = await ticking();
    await replace({ payload: { old: 1 }, trigger_ref: monitor('m:1') });
    await replace({ payload: { m1: 1 }, trigger_ref: monitor('m:1') });
    await replace({ payload: { m2: 1 }, trigger_ref: monitor('m:2') });
    await replace({ payload: { other: 1 }, trigger_ref: monitor('m-2:1') });
    await replace({ payload: { none: 1 }, feedback_type: 'u' });
    expect(await paths()).toEqual(['m1:numeric', 'm2:numeric', 'none:numeric', 'other:numeric']);
    expect(await paths({ sample_limit: 2 })).toEqual(['none:numeric', 'other:numeric']);
    expect(await paths({ trigger_ref: monitor('m:1') })).toEqual(['m1:numeric']);
    expect(await paths({ trigger_ref: monitor('m:*') })).toEqual(['m1:numeric', 'm2:numeric', 'other:numeric']);
    expect(await paths({ trigger_ref: monitor('m-:*') })).toEqual(['other:numeric']);
    expect(await paths({ feedback_type: 'u' })).toEqual(['none:numeric']);
    expect(await paths({ project_id: 'c/d' })).toEqual([]);
  });

  it('includes the start and excludes the end, in any zone and fraction', async () => {
    let now = Date.UTC(2026, 0, 31, 12, 0, 0, 500);
    const { send } = await localService({ now: () => now });
    await post(send, '/feedback/replace', record());
    now += 3_600_000;
    const found = async (start: string, end?: string): Promise<number> => {
      const { json } = await post(send, '/feedback/payload_schema', {
        project_id: 'a/b',
        start,
        ...(end === undefined ? {} : { end }),
      });
      return Array.isArray(json.paths) ? json.paths.length : -1;
    };
    expect(await found('2026-01-31T12:00:00.500Z')).toBe(1);
    expect(await found('2026-01-31T12:00:00.5001Z')).toBe(0);
    expect(await found('2026-01-31T12:00:00.5')).toBe(1);
    expect(await found('2026-01-31T14:00:00.500+02:00')).toBe(1);
    expect(await found('2026-01-01T00:00:00Z', '2026-01-31T12:00:00.500Z')).toBe(0);
    expect(await found('2026-01-01T00:00:00Z', '2026-01-31T12:00:00.500001Z')).toBe(1);
    expect(await found('2026-01-01T00:00:00Z', '2026-01-31T11:00:00.501-01:00')).toBe(1);
    expect(await found('2026-02-01T00:00:00Z')).toBe(0);
  });
});

describe('payload paths', () => {
  const of = (...payloads: string[]): string[] =>
    inferPayloadPaths(payloads).map(({ path, type }) => `${path}:${type}`);

  it.each<[string, string[], string[]]>([
    ['dotted, without a leading sign', ['{"output":{"score":1}}'], ['output.score:numeric']],
    [
      'types of scalars',
      ['{"b":true,"i":1,"f":1.5,"s":"x","n":null}'],
      ['b:boolean', 'f:numeric', 'i:numeric', 'n:boolean', 's:categorical'],
    ],
    [
      'mixtures',
      ['{"a":1,"b":true,"c":true,"d":"x"}', '{"a":null,"b":1,"c":null,"d":1}'],
      ['a:numeric', 'b:categorical', 'c:boolean', 'd:categorical'],
    ],
    [
      'lists of scalars at their own path',
      ['{"l":[1,null],"m":[1,"x"],"b":[true]}'],
      ['b:boolean', 'l:numeric', 'm:categorical'],
    ],
    ['nothing from what is inside lists', ['{"l":[{"a":1},[2]],"m":[{"a":1},5]}'], ['m:numeric']],
    ['nothing from what is empty', ['{"a":{},"b":[]}', '{}'], []],
    ['nothing from roots that are no objects', ['[1]', '5', '"x"'], []],
    [
      'keys that are empty, blank or dotted go with all below',
      ['{"":1," ":{"x":1},"a.b":{"x":1},"c":{"d.e":1,"f":1}}'],
      ['c.f:numeric'],
    ],
    ['only plain paths', ['{"a-b":1,"ä":1,"a b":1,"a_1":1,"x":{"y/z":1}}'], ['a b:numeric', 'a_1:numeric']],
    ['of a key that stands twice the last', ['{"a":{"x":1},"a":{"y":1}}'], ['a.y:numeric']],
    ['__proto__ is a name', ['{"__proto__":{"constructor":1}}'], ['__proto__.constructor:numeric']],
  ])('%s', (_, payloads, wanted) => {
    expect(of(...payloads)).toEqual(wanted);
  });

  it('are unique, sorted, and of payloads of any depth', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue(), { maxLength: 5 }), (values) => {
        const paths = of(...values.map((value) => JSON.stringify(value))).map((row) =>
          row.slice(0, row.lastIndexOf(':')),
        );
        expect(paths).toEqual([...new Set(paths)].sort());
      }),
    );
    expect(of(`${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`)).toHaveLength(1);
  });
});

describe('call start', () => {
  const start = (more: object = {}) => ({
    start: { project_id: 'a/b', op_name: 'x', attributes: {}, inputs: {}, started_at: '2026-01-01T00:00:00Z', ...more },
  });

  it('fills missing ids and merges by id', async () => {
    const { send } = await localService();
    const first = await post(send, '/call/start', start());
    expect(first.json).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      trace_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    const again = await post(send, '/call/start', start({ id: first.json.id, display_name: 'x' }));
    expect(again.json).toEqual(first.json);
    expect((await post(send, '/call/start', start())).json.id).not.toBe(first.json.id);
  });

  it.each(['project_id', 'op_name', 'started_at', 'attributes', 'inputs'])('requires %s', async (name) => {
    const { send } = await localService();
    const body = start({ [name]: undefined });
    expect(await post(send, '/call/start', body)).toMatchObject({
      status: 422,
      json: { detail: [{ loc: ['body', 'start', name], msg: 'Field required', type: 'missing' }] },
    });
  });

  it.each(['project_id', 'op_name', 'started_at', 'attributes', 'inputs'])('refuses null for %s', async (name) => {
    const { send } = await localService();
    expect(await post(send, '/call/start', start({ [name]: null }))).toMatchObject({
      status: 422,
      json: { detail: [{ loc: ['body', 'start', name], msg: 'must not be null', type: 'value_error' }] },
    });
  });

  it('accepts unknown fields and orphans, and rejects invalid ids', async () => {
    const { send } = await localService();
    expect((await post(send, '/call/start', start({ more: 1, parent_id: '0123456789abcdef' }))).status).toBe(200);
    expect((await post(send, '/call/start', start({ id: 'x' }))).status).toBe(422);
  });
});

describe('training jobs', () => {
  it('are stored with their trajectories byte for byte', async () => {
    const { send } = await localService();
    const body =
      '{"model_id":"0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05","trajectory_groups":[{"trajectories":[{"reward":1.0},{ "reward" : 9007199254740993 }]},{"trajectories":[]},{}]}';
    const { status, json } = await post(send, '/v1/preview/training-jobs', body);
    expect([status, json]).toEqual([200, { id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/) }]);
  });
});

describe('requests without an operation', () => {
  const model = async (path: string, send: Send): Promise<[status: number, json: unknown]> => {
    const response = await send({ method: 'GET', url: `http://localhost${path}`, headers: [], body: new Uint8Array() });
    return [response.status, JSON.parse((await collectBody(response.body, 1e6)).toString())];
  };
  const modelOf = (id: string) => ({ id, object: 'model', created: expect.any(Number), owned_by: 'svc' });

  it('serves every model, and lists the built-in one', async () => {
    const { send } = await localService();
    expect(await model('/v1/models', send)).toEqual([200, { object: 'list', data: [modelOf('svc-local')] }]);
    for (const [path, id] of [
      ['a', 'a'],
      ['org/a', 'org/a'],
      ['org%2Fa%20b', 'org/a b'],
      ['%zz', '%zz'],
    ])
      expect(await model(`/v1/models/${path}`, send)).toEqual([200, modelOf(id ?? '')]);
    expect((await model('/v1/models/../x', send))[0]).toBe(404);
  });

  it('serves only the given models', async () => {
    const { send } = await localService({ models: ['a', 'org/b'] });
    const chat = (name?: string) =>
      post(send, '/v1/chat/completions', { model: name, messages: [{ role: 'user', content: 'x' }] });
    expect(await model('/v1/models', send)).toMatchObject([200, { data: [{ id: 'a' }, { id: 'org/b' }] }]);
    expect(await model('/v1/models/org%2Fb', send)).toEqual([200, modelOf('org/b')]);
    const message = 'the model "c" is not served; available: a, org/b';
    const error = { error: { message, type: 'invalid_request_error', param: null, code: 404 } };
    expect(await model('/v1/models/c', send)).toEqual([404, error]);
    expect(await chat('c')).toMatchObject({ status: 404, json: error });
    expect(await chat('org/b')).toMatchObject({ status: 200, json: { model: 'org/b' } });
    expect(await chat()).toMatchObject({ status: 200, json: { model: 'a' } });
  });

  it('names an encoding that it does not decode', async () => {
    const { send } = await localService();
    const response = await send({
      method: 'POST',
      url: 'http://localhost/call/start',
      headers: [
        ['Content-Type', 'application/json'],
        ['Content-Encoding', 'gzip'],
      ],
      body: Buffer.from([0x1f, 0x8b]),
    });
    expect(response.status).toBe(415);
    expect((await collectBody(response.body, 1e6)).toString()).toContain('gzip');
  });
});
