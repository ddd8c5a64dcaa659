import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { collectBody } from '../../src/http/body-chunks.ts';
import { openHarReplay } from '../../src/local-service/har.ts';
import { temporaryDirectory } from '../support/svc.ts';

const traceId = '0123456789abcdef0123456789abcdef';

/** A replay of one recorded exchange. */
async function replay(path: string, request: string, response = '{"recorded":true}') {
  const file = join(temporaryDirectory(), 'r.har');
  const entry = {
    request: { method: 'POST', url: `http://localhost${path}`, postData: { text: request } },
    response: { status: 200, headers: [], content: { text: response } },
  };
  writeFileSync(file, JSON.stringify({ log: { entries: [entry] } }));
  const { send, requireAllRecorded } = await openHarReplay(file, { username: 'u', password: 'p', token: 't' });
  const post = async (to: string, body: string, headers: readonly (readonly [string, string])[] = []) => {
    const { status, ...answer } = await send({
      ...{ method: 'POST', url: `http://localhost${to}`, headers },
      body: Buffer.from(body),
    });
    return [status, (await collectBody(answer.body, 1e6)).toString()];
  };
  return { post, requireAllRecorded };
}

const basic = [['authorization', `Basic ${btoa('u:p')}`]] as const;
const bearer = [['authorization', 'Bearer t']] as const;

it('responds to a request with another trace id, with that id', async () => {
  const { post } = await replay('/call/start', `{"trace_id":"${traceId}"}`, `{"trace_id":"${traceId}"}`);
  const other = `{"trace_id":"${traceId.replaceAll('0', '1')}"}`;
  expect(await post('/call/start', other, basic)).toEqual([200, other]);
});

it.each([
  ['seed of 16 digits', '{"seed":1111111111111111}', '{"seed":2222222222222222}'],
  ['text with 16 digits', '{"a":"call 1111111111111111"}', '{"a":"call 2222222222222222"}'],
])('does not respond to a request with another %s', async (_, recorded, sent) => {
  const { post, requireAllRecorded } = await replay('/v1/chat/completions', recorded);
  expect((await post('/v1/chat/completions', recorded, bearer))[0]).toBe(200);
  expect(requireAllRecorded).not.toThrow();
  expect((await post('/v1/chat/completions', sent, bearer))[0]).toBe(404);
  expect(requireAllRecorded).toThrow('1 request was not in');
});

it('does not count requests for paths that are never recorded', async () => {
  const { post, requireAllRecorded } = await replay('/call/start', '{}');
  for (const path of ['/', '/metrics', '/favicon.ico']) expect((await post(path, ''))[0]).toBe(404);
  expect(requireAllRecorded).not.toThrow();
  expect((await post('/v1/models', '', bearer))[0]).toBe(404);
  expect(requireAllRecorded).toThrow('POST /v1/models (1)');
});

it('responds with a recorded 204 without a body, or headers of one', async () => {
  const file = join(temporaryDirectory(), 'r.har');
  const request = { method: 'POST', url: 'http://localhost/call/start', postData: { text: '{}' } };
  const response = { status: 204, headers: [{ name: 'X-Kept', value: 'a' }], content: { text: 'lost' } };
  writeFileSync(file, JSON.stringify({ log: { entries: [{ request, response }] } }));
  const { send } = await openHarReplay(file, undefined);
  const url = 'http://localhost/call/start';
  const replayed = await send({ method: 'POST', url, headers: [], body: Buffer.from('{}') });
  expect([replayed.status, replayed.headers]).toEqual([204, [['X-Kept', 'a']]]);
  expect((await collectBody(replayed.body, 1e6)).length).toBe(0);
});
