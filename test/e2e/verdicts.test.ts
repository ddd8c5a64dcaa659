import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runBuilt } from '../support/built.ts';
import type { Finished } from '../support/process.ts';
import { httpAnswer, rawServer } from '../support/raw-server.ts';
import { listening } from '../support/secure-servers.ts';
import { temporaryDirectory } from '../support/svc.ts';

type Headers = { readonly [name: string]: string | readonly string[] };

interface Reply {
  readonly status: number;
  readonly body?: string;
  readonly headers?: Headers;
}

const busyText = 'The engine is currently busy and cannot accept new requests. Please retry later.';
const backlogText = 'The engine has reached its prefill token backlog limit';
const vllmError = (message: string, more: object = {}): string =>
  JSON.stringify({ error: { message, type: 'Service Unavailable', param: null, code: 503, ...more } });
const dropped = (reason: string): Headers => ({ 'x-llm-d-request-dropped-reason': reason });
const completion = (text: string): string =>
  JSON.stringify({ id: 'c', choices: [{ index: 0, message: { content: text }, finish_reason: 'stop' }] });

const sentBodies = {
  chat: '{"model":"m","messages":[{"role":"user","content":"x"}]}',
  schema: '{"project_id":"a/b","start":"2026-01-01T00:00:00Z"}',
  call: '{"start":{"project_id":"a/b","id":"0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05","trace_id":"0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e06","started_at":"2026-01-01T00:00:00Z","op_name":"x","attributes":{},"inputs":{}}}',
  replace:
    '{"feedback_id":"f","project_id":"a/b","svc_ref":"svc:///a/b/object/n:v1","feedback_type":"rating","payload":{}}',
  keyed:
    '{"id":"f","feedback_id":"f","project_id":"a/b","svc_ref":"svc:///a/b/object/n:v1","feedback_type":"rating","payload":{}}',
  train: JSON.stringify({
    model_id: '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05',
    trajectory_groups: [{ trajectories: [{ messages_and_choices: [{ role: 'user', content: 'x' }], reward: 1 }] }],
  }),
};
const commands = {
  chat: ['chat'],
  schema: ['feedback', 'schema'],
  call: ['call', 'start'],
  replace: ['feedback', 'replace'],
  keyed: ['feedback', 'replace'],
  train: ['train'],
};
type Sent = keyof typeof sentBodies;

const results: { readonly [sent in Sent]: string } = {
  chat: completion('done'),
  schema: '{"paths":[]}',
  call: '{"id":"0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05","trace_id":"0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e06"}',
  keyed: '{"id":"f","created_at":"2026-01-01T00:00:00Z","payload":{}}',
  replace: '{"id":"g","created_at":"2026-01-01T00:00:00Z","payload":{}}',
  train: '{"id":"j"}',
};

const credentials = { SVC_TOKEN: 'token-1', SVC_USERNAME: 'u', SVC_PASSWORD: 'p' };

function answer({ status, body = '', headers = {} }: Reply): string {
  const lines = Object.entries({ 'Content-Type': 'application/json', ...headers }).flatMap(([name, values]) =>
    [values].flat().map((value) => `${name}: ${value}\r\n`),
  );
  return httpAnswer(body, `${status} X`, lines.join(''));
}

/** Sends a request; the first response is `reply`, the ones after it are successes. */
async function send(sent: Sent, reply: Reply, flags: readonly string[] = [], cwd = temporaryDirectory()) {
  const answers = [answer(reply)];
  const { url, received } = await rawServer((socket) =>
    socket.end(answers.shift() ?? answer({ status: 200, body: results[sent] })),
  );
  const args = [...commands[sent], '-f', '-', '--no-check', '--error-format', 'json', ...flags];
  const env = { ...credentials, SVC_BASE_URL: url };
  const result = await runBuilt(args, { env, cwd, stdin: sentBodies[sent] });
  return { ...result, requests: received.length, error: errorOf(result) };
}

function errorOf({ stderr }: Finished) {
  return JSON.parse(stderr.trimEnd().split('\n').at(-1) || '{}').error;
}

type Verdict = 'refused with proof' | 'unknown' | 'not applied';

const unknown503 = { exit_code: 6, applied: 'unknown' };
const rateLimited = { exit_code: 9, applied: 'no' };

describe('a response proves that a request was not applied only with its status, header, text and operation', () => {
  type Row = [name: string, reply: Reply, verdict: Verdict];
  const chatRows: Row[] = [
    ['a full queue of vLLM', { status: 503, body: vllmError(busyText) }, 'refused with proof'],
    ['its token backlog', { status: 503, body: vllmError(backlogText) }, 'refused with proof'],
    ['another text', { status: 503, body: vllmError('The engine is shutting down') }, 'unknown'],
    ['the text elsewhere in the message', { status: 503, body: vllmError(`Sorry. ${busyText}`) }, 'unknown'],
    ['the text in lower case', { status: 503, body: vllmError(busyText.toLowerCase()) }, 'unknown'],
    ['the text cut short', { status: 503, body: vllmError('The engine is currently busy') }, 'unknown'],
    ['the backlog after another text', { status: 503, body: vllmError(`Sorry. ${backlogText}`) }, 'unknown'],
    ['an array around it', { status: 503, body: `[${vllmError(busyText)}]` }, 'unknown'],
    ['another type', { status: 503, body: vllmError(busyText, { type: 'ServiceUnavailable' }) }, 'unknown'],
    ['another code', { status: 503, body: vllmError(busyText, { code: 500 }) }, 'unknown'],
    ['a code as text', { status: 503, body: vllmError(busyText, { code: '503' }) }, 'unknown'],
    [
      'no error object',
      { status: 503, body: JSON.stringify({ message: busyText, type: 'Service Unavailable', code: 503 }) },
      'unknown',
    ],
    ['another status', { status: 500, body: vllmError(busyText) }, 'unknown'],
    ...[
      'rejected-saturated',
      'rejected-ttl-expired',
      'rejected-shutting-down',
      'rejected-context-cancelled',
      'rejected-no-endpoints',
    ].flatMap((reason) =>
      [429, 503].map(
        (status): Row => [`llm-d: ${status} ${reason}`, { status, headers: dropped(reason) }, 'refused with proof'],
      ),
    ),
    ...['evicted', 'evicted-ttl', 'rejected-internal', 'Rejected-Saturated', 'rejected-saturated, evicted', ''].flatMap(
      (reason) =>
        [429, 503].map(
          (status): Row => [`llm-d: ${status} "${reason}"`, { status, headers: dropped(reason) }, 'unknown'],
        ),
    ),
    [
      'llm-d: evicted with Retry-After',
      { status: 503, headers: { ...dropped('evicted'), 'Retry-After': '0' } },
      'unknown',
    ],
    [
      'llm-d: a second value beside a listed one',
      { status: 503, headers: { 'x-llm-d-request-dropped-reason': ['rejected-saturated', 'evicted'] } },
      'unknown',
    ],
    [
      'llm-d: another header with a listed value',
      { status: 503, headers: { 'x-request-dropped-reason': 'rejected-saturated' } },
      'unknown',
    ],
    ['llm-d: another status', { status: 500, headers: dropped('rejected-saturated') }, 'unknown'],
    ['Envoy', { status: 503, headers: { 'x-envoy-overloaded': 'true' } }, 'refused with proof'],
    [
      'Envoy, first attempt',
      { status: 503, headers: { 'x-envoy-overloaded': 'true', 'x-envoy-attempt-count': '1' } },
      'refused with proof',
    ],
    [
      'Envoy, second attempt',
      { status: 503, headers: { 'x-envoy-overloaded': 'true', 'x-envoy-attempt-count': '2' } },
      'unknown',
    ],
    [
      'Envoy, unreadable attempt',
      { status: 503, headers: { 'x-envoy-overloaded': 'true', 'x-envoy-attempt-count': 'x' } },
      'unknown',
    ],
    ['Envoy, in capitals', { status: 503, headers: { 'x-envoy-overloaded': 'TRUE' } }, 'unknown'],
    ['Envoy, both', { status: 503, headers: { 'x-envoy-overloaded': ['true', 'false'] } }, 'unknown'],
    ['Envoy, false', { status: 503, headers: { 'x-envoy-overloaded': 'false' } }, 'unknown'],
    ['Envoy, another status', { status: 500, headers: { 'x-envoy-overloaded': 'true' } }, 'unknown'],
    ['a plain 503', { status: 503 }, 'unknown'],
  ];
  it.each(chatRows)('chat: %s', async (_, reply, verdict) => {
    const { code, requests, error } = await send('chat', reply);
    if (verdict === 'refused with proof') expect([code, requests]).toEqual([0, 2]);
    else {
      expect([requests, error.applied, error.retryable]).toEqual([1, 'unknown', false]);
      expect(error.exit_code).toBe(reply.status === 429 ? 8 : 6);
    }
    const alone = await send('chat', reply, ['--retries', '0']);
    expect(alone.error).toMatchObject(verdict === 'refused with proof' ? rateLimited : { applied: 'unknown' });
  });

  it.each([
    ...(['call', 'schema', 'keyed', 'replace', 'train'] as const).flatMap((sent) => [
      [sent, { status: 503, body: vllmError(busyText) }, unknown503] as const,
      [sent, { status: 503, body: vllmError(backlogText) }, unknown503] as const,
    ]),
    ['schema', { status: 503, headers: dropped('rejected-saturated') }, unknown503],
    ['keyed', { status: 503, headers: dropped('rejected-saturated') }, unknown503],
    ['train', { status: 503, headers: dropped('rejected-saturated') }, unknown503],
    ['keyed', { status: 503, headers: { 'x-envoy-overloaded': 'true' } }, rateLimited],
    ['keyed', { status: 503, headers: { 'x-envoy-overloaded': 'true', 'x-envoy-attempt-count': '2' } }, unknown503],
    ['call', { status: 503, headers: dropped('rejected-saturated') }, unknown503],
    ['call', { status: 503, headers: { 'x-envoy-overloaded': 'true' } }, rateLimited],
    ['schema', { status: 503, headers: { 'x-envoy-overloaded': 'true' } }, rateLimited],
    ['replace', { status: 503, headers: { 'x-envoy-overloaded': 'true' } }, unknown503],
    ['train', { status: 503, headers: { 'x-envoy-overloaded': 'true' } }, unknown503],
    ['train', { status: 429, headers: dropped('evicted') }, rateLimited],
  ] as const)('%s: %j', async (sent, reply, error) => {
    expect((await send(sent, reply, ['--retries', '0'])).error).toMatchObject(error);
  });
});

describe('each row of docs/internals/servers.md', () => {
  interface Row {
    readonly sent: Sent;
    readonly reply: Reply;
    readonly exitCode: number;
    readonly applied: 'yes' | 'no' | 'unknown';
    /** Requests of a command with one retry, if the second response is a success. */
    readonly requests: 1 | 2;
    /** Exit code and outcome in the result line of a batch. */
    readonly stored: readonly [exitCode: number, applied: string];
    /** Requests of `--resume`. */
    readonly resumed: 0 | 1;
    readonly profile?: true;
  }
  const refused = { exitCode: 9, applied: 'no', requests: 2, stored: [9, 'no'], resumed: 1 } as const;
  const unknown = (exitCode: number) =>
    ({ exitCode, applied: 'unknown', requests: 1, stored: [exitCode, 'unknown'], resumed: 0 }) as const;
  const rejected = { exitCode: 5, applied: 'no', requests: 1, stored: [5, 'no'], resumed: 1 } as const;
  const chat = (reply: Reply) => ({ sent: 'chat', reply }) as const;
  const replace = (reply: Reply) => ({ sent: 'replace', reply }) as const;
  const overloaded = { 'x-envoy-overloaded': 'true' };
  const stream = { 'Content-Type': 'text/event-stream' };
  const half = 'data: {"choices":[{"index":0,"delta":{"content":"half"}}]}\n\n';
  const rows: { readonly [name: string]: Row } = {
    'a full queue of vLLM': { ...chat({ status: 503, body: vllmError(busyText) }), ...refused },
    'the token backlog of vLLM': { ...chat({ status: 503, body: vllmError(backlogText) }), ...refused },
    'another text of vLLM': { ...chat({ status: 503, body: vllmError('The engine is shutting down') }), ...unknown(6) },
    'a request that llm-d rejected': { ...chat({ status: 503, headers: dropped('rejected-saturated') }), ...refused },
    'the same with 429': { ...chat({ status: 429, headers: dropped('rejected-no-endpoints') }), ...refused },
    'a request that llm-d evicted': { ...chat({ status: 503, headers: dropped('evicted') }), ...unknown(6) },
    'the same evicted with 429': { ...chat({ status: 429, headers: dropped('evicted') }), ...unknown(8) },
    'an overload of Envoy': { ...chat({ status: 503, headers: overloaded }), ...refused },
    'an overload of Envoy for a keyed call': { sent: 'call', reply: { status: 503, headers: overloaded }, ...refused },
    'an overload of Envoy for a replacement': { ...replace({ status: 503, headers: overloaded }), ...unknown(6) },
    'a load balancer': { ...chat({ status: 503 }), ...unknown(6) },
    'a status of overload_statuses': { ...chat({ status: 529 }), ...refused, profile: true },
    'a project in complete mode': {
      sent: 'call',
      reply: { status: 400, body: '{"reason":"r","error_code":"CALLS_COMPLETE_MODE_REQUIRED"}' },
      ...rejected,
    },
    'a 429': { ...chat({ status: 429 }), ...refused },
    'a 503 with Retry-After': { ...chat({ status: 503, headers: { 'Retry-After': '0' } }), ...refused },
    'a proven error under 200': { ...chat({ status: 200, body: '{"error":{"code":429,"message":"m"}}' }), ...refused },
    'another error under 200': { ...chat({ status: 200, body: '{"error":"text"}' }), ...unknown(11) },
    'an error after half a stream': {
      ...chat({ status: 200, body: `${half}data: {"error":{"message":"m"}}\n\n`, headers: stream }),
      ...{ exitCode: 11, applied: 'yes', requests: 1, stored: [11, 'yes'], resumed: 0 },
    },
    'a replacement whose object is missing': {
      ...replace({ status: 404, body: '{"detail":"x","missing_object_digests":["d"]}' }),
      ...unknown(5),
    },
    'a replacement that no route takes': { ...replace({ status: 404, body: '{"detail":"Not Found"}' }), ...rejected },
    'a replacement with an invalid body': {
      ...replace({ status: 422, body: '{"detail":[{"loc":["body","payload"],"msg":"m"}]}' }),
      ...rejected,
    },
    'a replacement refused with another 422': { ...replace({ status: 422, body: '{"detail":"m"}' }), ...unknown(5) },
  };

  it.each(Object.entries(rows))('%s', async (_, row) => {
    const { sent, reply, exitCode, applied, requests, stored, resumed, profile } = row;
    const cwd = temporaryDirectory();
    const flags = profile ? ['--profile', 'work'] : [];
    if (profile) await runBuilt(['profile', 'set', 'work', '--overload-statuses', '529'], { cwd, env: credentials });
    expect((await send(sent, reply, ['--retries', '1', ...flags], cwd)).requests).toBe(requests);
    const { error } = await send(sent, reply, ['--retries', '0', ...flags], cwd);
    expect(error).toMatchObject({ exit_code: exitCode, applied });
    let isDown = true;
    const { url, received } = await rawServer((socket) =>
      socket.end(answer(isDown ? reply : { status: 200, body: results[sent] })),
    );
    const env = { ...credentials, SVC_BASE_URL: url };
    const batch = ['--batch', '-', '-o', 'out.jsonl', '--no-check', '--max-outage', '1s', '--retries', '0', ...flags];
    const args = [...commands[sent], ...batch];
    expect((await runBuilt(args, { env, cwd, stdin: sentBodies[sent] })).code).toBe(10);
    const [line] = readFileSync(join(cwd, 'out.jsonl'), 'utf8').split('\n').filter(Boolean);
    const { exit_code, applied: outcome } = JSON.parse(line ?? '{}');
    expect([exit_code, outcome]).toEqual(stored);
    isDown = false;
    received.length = 0;
    await runBuilt([...args, '--resume'], { env, cwd, stdin: sentBodies[sent] });
    expect(received.length).toBe(resumed);
  });
});

describe('overload_statuses of a profile', () => {
  it('are refusals for chats, and for nothing else', async () => {
    const cwd = temporaryDirectory();
    const env = { ...credentials };
    const set = await runBuilt(['profile', 'set', 'work', '--overload-statuses', '503,529'], { cwd, env });
    expect(set.code).toBe(0);
    expect((await send('chat', { status: 529 }, ['--profile', 'work'], cwd)).requests).toBe(2);
    const { requests, error } = await send('chat', { status: 500 }, ['--profile', 'work'], cwd);
    expect([requests, error.applied]).toEqual([1, 'unknown']);
    const evicted = await send('chat', { status: 503, headers: dropped('evicted') }, ['--profile', 'work'], cwd);
    expect(evicted.error.applied).toBe('unknown');
    expect((await send('train', { status: 529 }, ['--profile', 'work'], cwd)).error.applied).toBe('unknown');
    writeFileSync(join(cwd, '.svc.json'), '{"overload_statuses":"500"}');
    const ofProject = await send('chat', { status: 500 }, ['--profile', 'work'], cwd);
    expect([ofProject.code, ofProject.stderr]).toEqual([2, expect.stringContaining('overload_statuses')]);
    for (const invalid of ['429', '503,x', '600', '503 529'])
      expect((await runBuilt(['profile', 'set', 'work', '--overload-statuses', invalid], { cwd, env })).code).toBe(2);
  });
});

describe('an error under status 200', () => {
  it.each([
    ['{"error":{"message":"slow down","code":429}}', 2, 0, undefined],
    ['{"error":{"message":"slow down","code":"rate_limit_exceeded"}}', 2, 0, undefined],
    ['{"error":{"message":"who","code":401}}', 1, 4, 'no'],
    ['{"message":"who","code":"403"}', 1, 4, 'no'],
    ['{"error":{"message":"m","code":503}}', 1, 6, 'unknown'],
    ['{"error":{"message":"m","code":400}}', 1, 5, 'unknown'],
    ['{"error":"text"}', 1, 11, 'unknown'],
    ['{"detail":"text"}', 1, 11, 'unknown'],
    ['{"base_resp":{"status_code":1002,"status_msg":"text"}}', 1, 11, 'unknown'],
    ['{"choices":null,"base_resp":{"status_code":429,"status_msg":"text"}}', 2, 0, undefined],
    ['{"choices":[],"error":{"message":"m","code":429}}', 1, 9, 'unknown'],
    ['{"usage":{"total_tokens":1},"error":{"message":"m","code":429}}', 1, 9, 'unknown'],
  ])('chat: %s', async (body, requests, exitCode, applied) => {
    for (const stream of ['', '"stream":true,']) {
      const stdin = sentBodies.chat.replace('{', `{${stream}`);
      const event = { body: `data: ${body}\n\n`, headers: { 'Content-Type': 'text/event-stream' } };
      const answers = [answer({ status: 200, ...(stream === '' ? { body } : event) })];
      const { url, received } = await rawServer((socket) =>
        socket.end(answers.shift() ?? answer({ status: 200, body: results.chat })),
      );
      const env = { ...credentials, SVC_BASE_URL: url };
      const result = await runBuilt(['chat', '-f', '-', '--error-format', 'json'], { env, stdin });
      expect([received.length, result.code, errorOf(result)?.applied]).toEqual([requests, exitCode, applied]);
    }
  });

  it.each([
    ['event: ping\ndata: {"type":"ping"}', 'unknown'],
    ['data: {"choices":[],"prompt_filter_results":[]}', 'yes'],
  ])('chat: after the event %j its code proves nothing', async (first, applied) => {
    const body = `${first}\n\ndata: {"error":{"message":"slow down","code":429}}\n\n`;
    const headers = { 'Content-Type': 'text/event-stream' };
    const { requests, error } = await send('chat', { status: 200, body, headers });
    expect([requests, error.exit_code, error.applied]).toEqual([1, 9, applied]);
  });

  it.each(['schema', 'call', 'replace', 'train'] as const)('%s: is unknown and never retried', async (sent) => {
    const { requests, error } = await send(sent, { status: 200, body: '{"error":{"message":"m","code":429}}' });
    expect([requests, error.exit_code, error.applied, error.service_code]).toEqual([1, 11, 'unknown', '429']);
  });
});

describe('a project in complete mode', () => {
  const reply = {
    status: 400,
    body: '{"reason":"use the other endpoint","error_code":"CALLS_COMPLETE_MODE_REQUIRED"}',
  };

  it('is reported with the base URL that takes the same call', async () => {
    const { error } = await send('call', reply);
    expect(error).toMatchObject({ exit_code: 5, applied: 'no', service_code: 'CALLS_COMPLETE_MODE_REQUIRED' });
    const base = /use --base-url (\S+)$/.exec(error.hint)?.[1] ?? '';
    expect(new URL(base).pathname).toBe('/v2/a/b');
    expect((await send('call', { ...reply, status: 409 })).error.hint).not.toContain('/v2/');
    const otherCode = { ...reply, body: reply.body.replace('COMPLETE', 'complete') };
    expect((await send('call', otherCode)).error.hint).not.toContain('/v2/');
  });

  it.each(['schema', 'replace', 'chat'] as const)('gives %s no such hint', async (sent) => {
    const { error } = await send(sent, reply);
    expect([error.exit_code, error.hint]).toEqual([5, expect.not.stringContaining('/v2/')]);
  });
});

describe('a proxy', () => {
  /** A proxy for plain http, and for CONNECT, that responds with `reply`, or not at all. */
  async function proxied(
    scheme: string,
    reply: Reply | undefined,
    flags: readonly string[] = [],
    stdin = sentBodies.chat,
  ) {
    const proxy = await rawServer((socket) => {
      if (reply) socket.end(answer(reply));
      else socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    });
    const env = { ...credentials, SVC_BASE_URL: `${scheme}://svc.test`, HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url };
    const args = [
      'chat',
      '--allow-http',
      '--error-format',
      'json',
      ...(flags.includes('--batch') ? [] : ['-f', '-']),
      ...flags,
    ];
    const result = await runBuilt(args, { env, stdin });
    return { ...result, error: errorOf(result), requests: proxy.received.length, proxy: new URL(proxy.url).host };
  }

  it.each(['http', 'https'])('that requires a password is named, and nothing was applied (%s)', async (scheme) => {
    const { code, error, requests, proxy } = await proxied(scheme, {
      status: 407,
      body: '<html><title>Denied</title></html>',
    });
    expect([code, requests]).toEqual([7, 1]);
    expect(error).toMatchObject({
      applied: 'no',
      status: 407,
      phase: 'nothing',
      bytes_sent: 0,
      message: expect.stringMatching(`the proxy ${proxy} requires a user and password \\(407\\)$`),
      hint: expect.stringContaining('http://<user>:<password>@<host>'),
    });
    const batch = await proxied(scheme, { status: 407 }, ['--batch', '-'], `${sentBodies.chat}\n`.repeat(30));
    expect(batch.requests).toBeLessThan(9);
    expect(batch.code).toBe(10);
    expect(batch.stdout).toBe('');
  });

  it('is blamed for its own pages', async () => {
    const headers = { 'X-Squid-Error': 'ERR_CONNECT_FAIL 111', 'Content-Type': 'text/html' };
    const { error, proxy } = await proxied('http', { status: 503, body: '<html><title>ERROR</title></html>', headers });
    expect(error).toMatchObject({
      exit_code: 6,
      applied: 'unknown',
      message: expect.stringMatching(`^the proxy ${proxy} returned 503`),
    });
  });

  it('that svc did not use is not blamed for the same responses', async () => {
    const login = await send('chat', { status: 407, body: 'no' });
    expect(login.error).toMatchObject({ exit_code: 5, applied: 'no', status: 407, phase: 'all' });
    expect(login.error.message).toMatch(/^http:\/\/127\S+ returned 407/);
    const page = await send('chat', { status: 503, body: 'no', headers: { 'X-Squid-Error': 'ERR_CONNECT_FAIL 111' } });
    expect(page.error).toMatchObject({ exit_code: 6, applied: 'unknown' });
    expect(page.error.message).toMatch(/^http:\/\/127\S+ returned 503/);
  });

  it('that takes CONNECT and stays silent is named', async () => {
    const { error, proxy } = await proxied('https', undefined, ['--timeout', '1s', '--retries', '0']);
    expect(error).toMatchObject({ exit_code: 7, message: expect.stringContaining(`the proxy ${proxy}`) });
  });
});

describe('a batch against a server that takes 6 requests at a time', () => {
  it('waits with the lines that a full queue refuses: each is sent once', async () => {
    let active = 0;
    const served = new Map<string, number>();
    const server = createServer((request, response) => {
      let text = '';
      request.on('data', (chunk) => {
        text += chunk;
      });
      request.on('end', () => {
        if (active >= 6) {
          response.writeHead(503, { 'Content-Type': 'application/json' }).end(vllmError(busyText));
          return;
        }
        active += 1;
        served.set(text, (served.get(text) ?? 0) + 1);
        setTimeout(() => {
          active -= 1;
          response.writeHead(200, { 'Content-Type': 'application/json' }).end(results.chat);
        }, 20);
      });
    });
    onTestFinished(() => void server.close());
    const port = await listening(server);
    const cwd = temporaryDirectory();
    const lines = Array.from({ length: 300 }, (_, at) => sentBodies.chat.replace('"x"', `"line ${at}"`));
    const env = { ...credentials, SVC_BASE_URL: `http://127.0.0.1:${port}` };
    const args = ['chat', '--batch', '-', '-o', 'out.jsonl', '--concurrency', '20', '--retries', '1'];
    const { code } = await runBuilt(args, { env, cwd, stdin: lines.join('\n') });
    expect(code).toBe(0);
    const stored = readFileSync(join(cwd, 'out.jsonl'), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect([stored.length, stored.every((one) => one.exit_code === 0)]).toEqual([300, true]);
    expect([served.size, Math.max(...served.values())]).toEqual([300, 1]);
  });

  it('resumes with the lines that were refused, and leaves those with an unknown outcome', async () => {
    const cwd = temporaryDirectory();
    let isDown = true;
    const received: string[] = [];
    const { url } = await rawServer((socket, request) => {
      const text = request.toString();
      received.push(text);
      const isRefused = text.includes('refused');
      if (!isDown) socket.end(answer({ status: 200, body: results.chat }));
      else socket.end(answer({ status: 503, body: vllmError(isRefused ? busyText : 'The engine is shutting down') }));
    });
    const lines = ['refused', 'unknown'].map((text) => sentBodies.chat.replace('"x"', `"${text}"`)).join('\n');
    const env = { ...credentials, SVC_BASE_URL: url };
    const args = ['chat', '--batch', '-', '-o', 'out.jsonl', '--max-outage', '1s', '--retries', '0'];
    const first = await runBuilt(args, { env, cwd, stdin: lines });
    expect(first.code).toBe(10);
    isDown = false;
    received.length = 0;
    await runBuilt([...args, '--resume'], { env, cwd, stdin: lines });
    expect(received.map((text) => /refused|unknown/.exec(text)?.[0])).toEqual(['refused']);
  });
});

describe('a chat that the service could not finish', () => {
  const half = (more: object, place: object = {}): string =>
    JSON.stringify({
      id: 'c',
      ...place,
      choices: [{ index: 0, message: { content: 'half' }, finish_reason: 'error', ...more }],
    });

  it.each([
    [half({}), 11],
    [half({ finish_reason: 'network_error' }), 11],
    [half({ finish_reason: 'insufficient_system_resource' }), 11],
    [half({ finish_reason: 'stop', error: { message: 'gone', code: 502 } }), 8],
    [half({ finish_reason: null }, { error: { message: 'gone', code: 429 } }), 9],
  ])('keeps its text and fails: %s', async (body, code) => {
    for (const isStream of [false, true]) {
      const text = isStream
        ? `data: ${body.replace('"message":{"content"', '"delta":{"content"')}\n\ndata: [DONE]\n\n`
        : body;
      const headers = isStream ? { 'Content-Type': 'text/event-stream' } : {};
      const { url, received } = await rawServer((socket) => socket.end(answer({ status: 200, body: text, headers })));
      const env = { ...credentials, SVC_BASE_URL: url };
      const result = await runBuilt(['chat', '-f', '-', '--error-format', 'json'], { env, stdin: sentBodies.chat });
      expect([result.code, result.stdout, received.length]).toEqual([code, 'half\n', 1]);
      expect(errorOf(result)).toMatchObject({ applied: 'yes', retryable: false });
    }
  });
});

describe('the reason of a failure', () => {
  const tools =
    '{"model":"m","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f"}}]}';
  it.each([
    ['[{"error":{"code":400,"message":"bad","status":"INVALID_ARGUMENT"}}]', '400', 'bad', undefined],
    [
      '{"object":"error","message":{"detail":[{"loc":["body","model"],"msg":"bad"}]},"code":"1"}',
      '1',
      undefined,
      'model',
    ],
    ['{"success":false,"errors":[{"code":7003,"message":"bad"}]}', '7003', 'bad', undefined],
    [
      '{"error":{"message":"Provider error","code":502,"metadata":{"raw":"{\\"error\\":{\\"message\\":\\"bad\\"}}"}}}',
      '502',
      'Provider error: bad',
      undefined,
    ],
    [
      '{"issues":[{"path":["messages",0,"content"],"message":"bad","code":"x"}]}',
      undefined,
      undefined,
      'messages[0].content',
    ],
    [
      '{"error":{"name":"ZodError","message":"[{\\"path\\":[\\"model\\"],\\"message\\":\\"bad\\"}]"}}',
      undefined,
      undefined,
      'model',
    ],
    ['{"message":["bad","worse"]}', undefined, 'bad; worse', undefined],
    [
      'Failed to deserialize the JSON body into the target type: tools[0].function: missing field `x`',
      undefined,
      undefined,
      'tools[0].function',
    ],
    [`${'{"error":'.repeat(200_000)}1${'}'.repeat(200_000)}`, undefined, undefined, undefined],
  ])('is read from %.60s', async (body, code, message, path) => {
    const { url } = await rawServer((socket) => socket.end(answer({ status: 422, body })));
    const env = { ...credentials, SVC_BASE_URL: url };
    const cwd = temporaryDirectory();
    const single = await runBuilt(['chat', '-f', '-', '--no-check', '--error-format', 'json'], { env, stdin: tools });
    const error = errorOf(single);
    expect([error.exit_code, error.service_code]).toEqual([5, code]);
    if (message !== undefined) expect(error.message).toContain(`: ${message}`);
    if (path !== undefined) expect(error.issues).toMatchObject([{ path, at: expect.stringContaining('stdin') }]);
    await runBuilt(['chat', '--batch', '-', '-o', 'out.jsonl', '--no-check'], { env, cwd, stdin: tools });
    const line = JSON.parse(readFileSync(join(cwd, 'out.jsonl'), 'utf8'));
    expect([line.service_code, line.error.service_code]).toEqual([code, code]);
    const stored = typeof line.error.body === 'string' ? line.error.body : JSON.stringify(line.error.body);
    expect(stored).toBe(body.slice(0, 8 * 1024));
    const merged = await runBuilt(['batch', 'merge', 'out.jsonl', '--output-format', 'openai', '-q'], { cwd });
    expect(JSON.parse(merged.stdout).response.body).toEqual(line.error.body);
  });
});
