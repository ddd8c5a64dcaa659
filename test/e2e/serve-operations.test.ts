import { chmodSync, chownSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { run, serve, waitForExit } from '../support/process.ts';
import { rawClient } from '../support/raw-client.ts';
import { temporaryDirectory } from '../support/svc.ts';

const question = '{"messages":[{"role":"user","content":"x"}]}';
const isRoot = process.geteuid?.() === 0;

function post(url: string, body: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, { method: 'POST', body, headers: { 'Content-Type': 'application/json', ...headers } });
}

describe('svc serve in operation', () => {
  it('reports its health to everybody and its metrics to its user', async () => {
    const { url, env } = await serve();
    const health = await fetch(`${url}/healthz`);
    expect([health.status, await health.text()]).toEqual([200, '{"status":"ok"}']);
    expect((await fetch(`${url}/healthz`, { method: 'HEAD' })).status).toBe(200);
    expect((await fetch(`${url}/metrics`)).status).toBe(401);
    await post(`${url}/v1/chat/completions`, question, { Authorization: `Bearer ${env.SVC_TOKEN}` });
    await post(`${url}/unknown/"path`, question);
    const basic = Buffer.from(`${env.SVC_USERNAME}:${env.SVC_PASSWORD}`).toString('base64');
    const metrics = await fetch(`${url}/metrics`, { headers: { Authorization: `Basic ${basic}` } });
    expect(metrics.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    const text = await metrics.text();
    expect(text).toContain('svc_requests_total{method="POST",path="/v1/chat/completions",status="200"} 1\n');
    expect(text).toContain('svc_requests_total{method="POST",path="other",status="404"} 1\n');
    expect(text).toContain('svc_requests_in_flight 1\n');
    for (const line of text.trim().split('\n')) {
      expect(line).toMatch(/^(# (HELP|TYPE) \w+ .+|\w+(\{(\w+="[^"]*",?)+\})? [0-9.e+-]+)$/);
    }
  });

  it('logs requests with method, path, status, duration and id', async () => {
    const { url, child } = await serve(['--no-auth', '--log', 'json']);
    const output = waitForExit(child);
    const response = await post(`${url}/call/start?token=secret`, '{}');
    await response.text();
    child.kill('SIGTERM');
    const { stderr } = await output;
    const line = stderr.split('\n').find((text) => text.startsWith('{')) ?? '';
    expect(JSON.parse(line)).toEqual({
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      method: 'POST',
      path: '/call/start',
      status: 422,
      duration_ms: expect.any(Number),
      request_id: response.headers.get('x-request-id'),
    });
    expect(stderr).not.toContain('secret');
  });

  it.each([
    ['the service', () => []],
    ['a recording', () => ['--record', join(temporaryDirectory(), 'x.har')]],
  ])('logs and counts requests that %s refuses for their origin', async (_, flags) => {
    const { url, child } = await serve(['--no-auth', '--log', 'json', ...flags()]);
    const output = waitForExit(child);
    const foreign = { method: 'POST', headers: { Origin: 'http://evil.example' } };
    expect((await fetch(`${url}/call/start`, foreign)).status).toBe(403);
    expect(await (await fetch(`${url}/metrics`)).text()).toContain('method="POST",path="/call/start",status="403"} 1');
    child.kill('SIGTERM');
    expect((await output).stderr).toContain('"path":"/call/start","status":403,');
  });

  it('counts each path that it serves under a name of its own', async () => {
    const { url } = await serve(['--no-auth', '--models', 'a/b']);
    const files = ['/', '/page.js', '/page.css', '/report.css', '/healthz', '/metrics'];
    const tables = ['calls', 'feedback', 'jobs', 'chats', 'trace', 'lint', 'record?table=jobs', 'export?table=jobs'];
    const served = [...files, '/v1/models', ...tables.map((name) => `/page/${name}`)];
    for (const path of [...served, '/v1/models/a/b'])
      expect([path, (await fetch(`${url}${path}`)).status]).toEqual([path, 200]);
    for (const path of ['/v1/models/', '/page', '/a'])
      expect([path, (await fetch(`${url}${path}`)).status]).toEqual([path, 404]);
    const text = await (await fetch(`${url}/metrics`)).text();
    for (const path of [...served.map((name) => name.replace(/\?.*/, '')), '/v1/models/{id}'])
      expect(text).toContain(`svc_requests_total{method="GET",path="${path}",status="200"} 1\n`);
    expect(text).toContain('svc_requests_total{method="GET",path="other",status="404"} 3\n');
  });

  it('shows each feedback of a trace, also that of svc call run', async () => {
    const { url } = await serve(['--no-auth']);
    const get = async (path: string) => JSON.parse(await (await fetch(`${url}/page/${path}`)).text());
    const start = {
      project_id: 'a/b',
      id: '00f067aa0ba902b7',
      trace_id: '0af7651916cd43dd8448eb211c80319c',
      op_name: 'x',
      started_at: '2026-01-01T00:00:00Z',
    };
    await post(`${url}/call/start`, JSON.stringify({ start: { ...start, attributes: {}, inputs: {} } }));
    const record = (type: string, payload: object): string =>
      JSON.stringify({
        ...{
          feedback_id: type,
          feedback_type: type,
          payload,
          project_id: 'a/b',
          svc_ref: 'svc:///a/b/call/00f067aa0ba902b7',
        },
      });
    await post(`${url}/feedback/replace`, record('rating', { score: 0.5 }));
    await post(`${url}/feedback/replace`, record('exit', { exit_code: 3, duration_ms: 20 }));
    await post(`${url}/feedback/replace`, record('end', { duration_ms: 30 }));
    const feedback = ['rating score=0.5', 'exit exit_code=3', 'end'];
    expect((await get('trace?id=0af7651916cd43dd8448eb211c80319c')).calls).toMatchObject([
      { durationMs: 30, failed: true, feedback },
    ]);
    expect((await get('calls')).rows).toMatchObject([{ feedback }]);
  });

  it('shows the configurations of two jobs beside each other, and marks what differs', async () => {
    const { url } = await serve(['--no-auth']);
    const create = async (config: string): Promise<string> => {
      const body = `{"model_id":"0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05","trajectory_groups":[],"experimental_config":${config}}`;
      return JSON.parse(await (await post(`${url}/v1/preview/training-jobs`, body)).text()).id;
    };
    const ids = [await create('{"name":"<b>","learning_rate":1.50,"ppo":true}'), await create('null')];
    const lint = async (query: string) => JSON.parse(await (await fetch(`${url}/page/lint?${query}`)).text());
    const [, title, table] = await lint(`job=${ids[0]}&with=${ids[1]}`);
    expect(title).toEqual(['h2', {}, ['Configuration']]);
    const cells = table[2][1][2].map(([, , row]: [string, object, [string, object, unknown[]][]]) =>
      row.map(([, , content]) => content[0]),
    );
    const marked = (name: string): unknown[] => ['b', {}, [`≠ ${name}`]];
    expect(cells).toEqual([
      ['model_id', ...Array(2).fill('"0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05"')],
      [marked('name'), '"<b>"', '-'],
      [marked('learning_rate'), '1.50', '-'],
      [marked('ppo'), 'true', '-'],
    ]);
    expect(JSON.stringify(await lint(`job=${ids[0]}`))).not.toContain('Configuration');
  });

  it('gives a response of --fault an id', async () => {
    const { url } = await serve(['--no-auth', '--fault', 'status=503']);
    const response = await post(`${url}/call/start`, '{}');
    expect([response.status, response.headers.get('x-request-id')]).toEqual([
      503,
      expect.stringMatching(/^[0-9a-f-]{36}$/),
    ]);
  });

  it('logs requests that --replay responds to', async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'empty.har'), '{"log":{"entries":[]}}');
    const { url, child } = await serve(['--no-auth', '--log', 'json', '--replay', join(cwd, 'empty.har')]);
    const output = waitForExit(child);
    await (await post(`${url}/call/start`, '{}')).text();
    child.kill('SIGTERM');
    expect((await output).stderr).toContain('"path":"/call/start","status":404,');
  });

  it('keeps the secret fields of chats out of a recording and out of its database, and replays them', async () => {
    const cwd = temporaryDirectory();
    const body = question.replace('}]', '}],"cache_salt":"f1rst-salt-","cache_salt":"sEcReT-salt"');
    const har = join(cwd, 'r.har');
    const recording = await serve(['--no-auth', '--record', har, '--data', join(cwd, 'recorded.db')]);
    const recorded = await (await post(`${recording.url}/v1/chat/completions`, body)).text();
    const chats = await (await fetch(`${recording.url}/page/chats`)).text();
    recording.child.kill('SIGTERM');
    await waitForExit(recording.child);
    expect(JSON.parse(readFileSync(har, 'utf8')).log.entries).toHaveLength(1);
    expect(readFileSync(har, 'utf8') + chats + readFileSync(join(cwd, 'recorded.db'))).not.toMatch(/-salt/);
    const replay = await serve(['--no-auth', '--replay', har]);
    expect(await (await post(`${replay.url}/v1/chat/completions`, body)).text()).toBe(recorded);
  });

  it.each([0, 20])('replays a response that was cut after %i bytes', async (count) => {
    const har = join(temporaryDirectory(), 'r.har');
    const chat = async (url: string): Promise<unknown[]> => {
      const { status, body } = await post(`${url}/v1/chat/completions`, question);
      const chunks: Uint8Array[] = [];
      const read = async (): Promise<void> => {
        for await (const chunk of body ?? []) chunks.push(chunk);
      };
      await expect(read()).rejects.toThrow('terminated');
      return [status, Buffer.concat(chunks).toString()];
    };
    const { url, child } = await serve(['--no-auth', '--record', har, '--fault', `cut=${count}`]);
    const recorded = await chat(url);
    child.kill('SIGTERM');
    await waitForExit(child);
    const replay = await serve(['--no-auth', '--replay', har]);
    expect(await chat(replay.url)).toEqual(recorded);
  });

  it.each([
    ['evil.com@127.0.0.1', '/v1/models', 403],
    ['@127.0.0.1', '/v1/models', 403],
    ['evil.com:x@localhost', '/v1/models', 403],
    ['127.0.0.1/evil.com', '/v1/models', 403],
    ['127.0.0.1', 'http://evil.com@127.0.0.1/v1/models', 403],
    ['127.0.0.1:1', '/v1/models', 200],
    ['[::1]', '/v1/models', 200],
    ['a.localhost', 'http://127.0.0.1/v1/models', 200],
  ])('answers a request with the host %s to %s with %i', async (host, target, status) => {
    const { url } = await serve(['--no-auth']);
    const client = await rawClient(
      new URL(url).port,
      `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
    );
    expect(await client.closed).toContain(`HTTP/1.1 ${status} `);
  });

  it('accepts bodies in UTF-8 only', async () => {
    const { url } = await serve(['--no-auth']);
    const statusOf = async (type: string): Promise<number> =>
      (await post(`${url}/v1/chat/completions`, question, { 'Content-Type': `application/json${type}` })).status;
    for (const type of ['', '; charset=utf-8', ';charset="UTF-8"', '; a=b; Charset=UTF8'])
      expect(await statusOf(type), type).toBe(200);
    for (const type of [
      '; charset=utf-16',
      ';charset="utf-16le"',
      '; charset=utf-8; charset=latin1',
      '; charset=utf-88',
    ])
      expect(await statusOf(type), type).toBe(415);
  });

  const harFile = (requestBody: string, response: object): string => {
    const path = join(temporaryDirectory(), 'r.har');
    const request = { method: 'POST', url: 'http://h/v1/chat/completions', postData: { text: requestBody } };
    const answer = { status: 200, headers: [], content: { text: '{}' }, ...response };
    writeFileSync(path, JSON.stringify({ log: { entries: [{ request, response: answer }] } }));
    return path;
  };

  it.each<[object, string]>([
    [{ status: 0 }, 'the response status 0 is not'],
    [{ status: 99999 }, 'the response status 99999 is not'],
    [{ status: 200.5 }, 'the response status 200.5 is not'],
    [{ status: 101 }, 'the response status 101 is not'],
    [{ status: '200' }, 'the response status 0 is not'],
    [{ headers: [{ name: 'X-A', value: 'a\r\nSet-Cookie: b' }] }, '["X-A"]'],
    [{ headers: [{ name: 'X-A\r\nX-B', value: 'a' }] }, 'Header name must be a valid HTTP token'],
    [{ statusText: 'OK\r\nX-A: b' }, '["statusText"]'],
  ])('rejects a HAR file with the response %j when it starts', async (response, message) => {
    const { code, stderr } = await run(['serve', '--replay', harFile(question, response)]);
    expect(stderr).toContain('r.har is not a valid HAR file: log.entries[0]: ');
    expect(stderr).toContain(message);
    expect(code).toBe(12);
  });

  it('replays a response to a JSON body of the same value, with numbers as written', async () => {
    const { url } = await serve(['--no-auth', '--replay', harFile('{"a":1.0,"b":[{"x":"é","y":null}]}', {})]);
    const statusOf = async (body: string): Promise<number> => (await post(`${url}/v1/chat/completions`, body)).status;
    expect(await statusOf('{"a":1.0,"b":[{"x":"é","y":null}]}')).toBe(200);
    expect(await statusOf(' { "b": [ {"y":null,\n"x":"\\u00e9"} ], "\\u0061": 1.0 }\n')).toBe(200);
    for (const other of [
      '{"a":1,"b":[{"x":"é","y":null}]}',
      '{"a":1.00,"b":[{"x":"é","y":null}]}',
      '{"a":1.0,"b":[{"x":"é","y":null},1]}',
      '{"a":1.0,"a":1.0,"b":[{"x":"é","y":null}]}',
      '{"a":1.0,"b":[{"x":"é"}]}',
      '{"a":"1.0","b":[{"x":"é","y":null}]}',
      '{"a":1.0,"b":[{"x":"é","y":null}]',
      '['.repeat(100_000) + ']'.repeat(100_000),
    ])
      expect(await statusOf(other), other.slice(0, 99)).toBe(404);
  });

  it('replays a response to a body with other ids as names and with other keys around them', async () => {
    const id = (digit: string): string => digit.repeat(32);
    const { url } = await serve([
      '--no-auth',
      '--replay',
      harFile(`{"z":{"${id('1')}":1,"${id('2')}":2}}`, { content: { text: `{"first":"${id('1')}"}` } }),
    ]);
    const reply = await post(`${url}/v1/chat/completions`, `{"z": {"${id('9')}":1, "${id('8')}":2}}`);
    expect([reply.status, await reply.text()]).toEqual([200, `{"first":"${id('9')}"}`]);
  });

  it('records bodies as they are where a password is shorter than eight characters', async () => {
    const har = join(temporaryDirectory(), 'r.har');
    const env = { SVC_USERNAME: 'u', SVC_PASSWORD: 'p', SVC_TOKEN: 'EMPTY' };
    const { url, child } = await serve(['--record', har], { env });
    await (
      await post(`${url}/v1/chat/completions`, question.replace('"x"', '"EMPTY pot"'), {
        Authorization: 'Bearer EMPTY',
      })
    ).text();
    child.kill('SIGTERM');
    await waitForExit(child);
    const [entry] = JSON.parse(readFileSync(har, 'utf8')).log.entries;
    expect([entry.response.status, entry.request.postData.text]).toEqual([200, expect.stringContaining('EMPTY pot')]);
  });

  it('rejects --no-auth with --credentials', async () => {
    expect(await run(['serve', '--no-auth', '--credentials', 'none.json'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--credentials'),
    });
  });

  it.each([['--max-body', '8M'], ['--open']])(
    'rejects --replay with %s, which has no effect on it',
    async (...flags) => {
      expect(await run(['serve', '--replay', 'none.har', ...flags])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(flags[0] ?? ''),
      });
    },
  );

  it('rejects bodies above --max-body', async () => {
    const { url } = await serve(['--no-auth', '--max-body', '1K']);
    const response = await post(`${url}/v1/chat/completions`, question.replace('"x"', `"${'x'.repeat(2000)}"`));
    expect([response.status, await response.text()]).toEqual([413, expect.stringContaining('at most 1 KiB')]);
  });

  it('takes a seed between int64 and the printed range, and no larger one', async () => {
    const { url } = await serve(['--no-auth']);
    const status = async (seed: string): Promise<number> =>
      (await post(`${url}/v1/chat/completions`, question.replace('{', `{"seed":${seed},`))).status;
    expect(await status('9223372036854776000')).toBe(200);
    expect(await status('9223372036854776001')).toBe(400);
  });
});

describe('data of the local service', () => {
  const call = ['call', 'start', '--local', '--project-id', 'a/b', '--op-name', 'x'];

  it('is narrowed to its owner, with a warning', async () => {
    const cwd = temporaryDirectory();
    await run(call, { cwd });
    const path = join(cwd, 'data', 'svc.db');
    chmodSync(path, 0o666);
    const { code, stderr } = await run(call, { cwd });
    expect(code).toBe(0);
    expect(stderr).toContain(`${path} was open to other users (0666)`);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it.skipIf(!isRoot)('that belongs to another user is exit 13', async () => {
    const cwd = temporaryDirectory();
    await run(call, { cwd });
    chownSync(join(cwd, 'data', 'svc.db'), 54321, 54321);
    expect(await run(call, { cwd })).toMatchObject({ code: 13, stderr: expect.stringContaining('another user') });
  });

  it.skipIf(!isRoot)('is not served with credentials that another user planted', async () => {
    const cwd = temporaryDirectory();
    const file = join(cwd, 'svc.db.credentials.json');
    writeFileSync(file, '{"username":"u","password":"p","token":"t"}', { mode: 0o600 });
    chownSync(file, 54321, 54321);
    for (const args of [[], ['--credentials', file]]) {
      const result = await run(['serve', '--data', join(cwd, 'svc.db'), ...args], { cwd });
      expect(result).toMatchObject({ code: 13, stderr: expect.stringContaining(file) });
    }
  });

  it('behind a symlink into a directory that others can write is exit 13', async () => {
    const cwd = temporaryDirectory();
    const [shared, own] = ['shared', 'own'].map((name) => join(cwd, name));
    for (const directory of [shared ?? '', own ?? '']) mkdirSync(directory, { mode: 0o700 });
    chmodSync(shared ?? '', 0o777);
    writeFileSync(join(shared ?? '', 'svc.db'), '', { mode: 0o600 });
    symlinkSync(join(shared ?? '', 'svc.db'), join(own ?? '', 'svc.db'));
    const result = await run(['serve', '--no-auth', '--data', join(own ?? '', 'svc.db')], { cwd });
    expect(result).toMatchObject({ code: 13, stderr: expect.stringContaining('symlink') });
  });

  it('with flipped bits is refused where the check of SQLite finds them', async () => {
    const cwd = temporaryDirectory();
    const path = join(cwd, 'data', 'svc.db');
    await run(call, { cwd });
    const bytes = readFileSync(path);
    // The header of the second page, which is a tree of the schema.
    for (const at of [4096, 4099, 4101]) bytes[at] = (bytes[at] ?? 0) ^ 0xff;
    writeFileSync(path, bytes);
    const result = await run(call, { cwd });
    expect(result).toMatchObject({ code: 12, stdout: '', stderr: expect.stringMatching(/corrupt|malformed/) });
  });
});
