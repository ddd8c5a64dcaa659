import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { openServiceStore } from '../../src/local-service/open-local-service.ts';
import { insertRows } from '../../src/local-service/store/row-query.ts';
import { runBuilt } from '../support/built.ts';
import { firstLine, serve, start, waitForExit } from '../support/process.ts';
import { rawClient } from '../support/raw-client.ts';
import { httpAnswer, rawServer } from '../support/raw-server.ts';
import { temporaryDirectory } from '../support/svc.ts';

const question = '{"messages":[{"role":"user","content":"x"}]}';

async function post(
  url: string,
  body: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; text: string; headers: Headers }> {
  const reply = await fetch(url, { method: 'POST', body, headers: { 'Content-Type': 'application/json', ...headers } });
  return { status: reply.status, text: await reply.text(), headers: reply.headers };
}

async function* mebibytes(count: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < count; at++) yield new Uint8Array(1024 * 1024);
}

// Until a port takes no connections any more.
async function refusing(url: string): Promise<void> {
  const isOpen = (): Promise<boolean> =>
    rawClient(new URL(url).port).then(
      () => true,
      () => false,
    );
  while (await isOpen());
}

describe('svc serve', () => {
  it('prints one line with its URL and ends cleanly on SIGTERM and SIGINT', async () => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const child = start(['serve', '--no-auth', '--format', 'text']);
      const line = await firstLine(child);
      expect(line).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
      expect((await post(`${line}/v1/chat/completions`, question)).status).toBe(200);
      const end = waitForExit(child);
      child.kill(signal);
      expect(await end).toMatchObject({ code: 0, signal: null });
    }
  });

  it('lets a response in flight finish when it is asked to end, and cuts one that would take long', async () => {
    const upstream = await rawServer((socket, request) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n');
      socket.write('9\r\ndata: 1\n\n\r\n');
      if (request.includes('short')) ending.push(() => socket.end('9\r\ndata: 2\n\n\r\n0\r\n\r\n'));
    });
    const ending: (() => void)[] = [];
    const { url, child } = await serve(['--no-auth', '--drain', '1s', '--upstream', upstream.url]);
    const asked = ['short', 'long'].map(async (text) => {
      const body = question.replace('"x"', `"${text}"`);
      const head = `POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`;
      const client = await rawClient(new URL(url).port, `${head}Content-Length: ${body.length}\r\n\r\n${body}`);
      await client.until(/data: 1/);
      return client;
    });
    const [short, long] = await Promise.all(asked);
    const end = waitForExit(child);
    child.kill('SIGTERM');
    await refusing(url);
    for (const go of ending) go();
    expect(await short?.closed).toMatch(/data: 2\n\n\r\n0\r\n\r\n$/);
    expect(await long?.closed).toMatch(/data: 1\n\n.*data: \{"error":.*\r\n0\r\n\r\n$/s);
    expect(await end).toMatchObject({ code: 0, signal: null });
  });

  it('loses nothing when several processes write to one database', async () => {
    const cwd = temporaryDirectory();
    const servers = await Promise.all([1, 2].map(() => serve(['--no-auth'], { cwd })));
    const record = (id: string): string =>
      `{"project_id":"a/b","feedback_id":"none","feedback_type":"t","svc_ref":"svc:///a/b/object/n:v","trigger_ref":"svc:///a/b/object/m:${id}","id":"${id}","payload":{"p${id}":1}}`;
    const overHttp = servers.flatMap(({ url }, server) =>
      Array.from(
        { length: 40 },
        async (_, at) => (await post(`${url}/feedback/replace`, record(`s${server}${at}`))).status,
      ),
    );
    const inProcess = Array.from({ length: 4 }, async (_, at) => {
      const result = await runBuilt(['feedback', 'replace', '--local', '-f', '-'], { cwd, stdin: record(`l${at}`) });
      return result.code === 0 ? 200 : result.stderr;
    });
    expect(new Set(await Promise.all([...overHttp, ...inProcess]))).toEqual(new Set([200]));
    const { stdout } = await runBuilt(
      ['feedback', 'schema', '--local', '--project-id', 'a/b', '--since', '1h', '--format', 'jsonl'],
      { cwd },
    );
    expect(stdout.trim().split('\n')).toHaveLength(84);
  });

  it('removes at its start what was stored before the age of --prune', async () => {
    const cwd = temporaryDirectory();
    const file = join(cwd, 'svc.db');
    const store = await openServiceStore({ databaseFile: file }, 0);
    const chat = { request: '{"messages":[]}', response: '{}', status: 200, duration_ms: 1 };
    const old = { ...chat, id: 'old', created_at: Date.now() - 31 * 86_400_000 };
    await store.commit(() => insertRows('chats', [old, { ...chat, id: 'new', created_at: Date.now() }]));
    await store.close();
    expect(await runBuilt(['serve', '--data', file, '--prune', '30'], { cwd })).toMatchObject({ code: 2 });
    const served = await serve(['--data', file, '--prune', '30d'], { cwd });
    served.child.kill('SIGTERM');
    expect(await waitForExit(served.child)).toMatchObject({ code: 0 });
    const after = await openServiceStore({ databaseFile: file }, 0);
    expect(await after.readRows({ sql: 'select id from @chats', values: [] })).toEqual([{ id: 'new' }]);
    await after.close();
  });

  it('creates credentials in a 0600 file beside the data, and reuses them', async () => {
    const cwd = temporaryDirectory();
    const served = async (): Promise<{ url: string; file: string }> => {
      const child = start(['serve', '--json', '--data', 'deep/er/my.db'], { cwd });
      const { url, pid, data, credentials_file: file } = JSON.parse(await firstLine(child));
      expect({ pid, data }).toEqual({ pid: child.pid, data: join(cwd, 'deep/er/my.db') });
      return { url, file };
    };
    const first = await served();
    expect(first.file).toBe(join(cwd, 'deep/er/my.db.credentials.json'));
    expect(statSync(first.file).mode & 0o777).toBe(0o600);
    expect(statSync(join(cwd, 'deep/er/my.db')).mode & 0o777).toBe(0o600);
    expect(statSync(join(cwd, 'deep/er')).mode & 0o777).toBe(0o700);
    const { username, password, token } = JSON.parse(readFileSync(first.file, 'utf8'));
    const second = await served();
    for (const { url } of [first, second]) {
      const env = { SVC_BASE_URL: url, SVC_USERNAME: username, SVC_PASSWORD: password, SVC_TOKEN: token };
      expect((await runBuilt(['chat', 'x'], { env })).code).toBe(0);
      expect((await runBuilt(['call', 'start', '--project-id', 'a/b', '--op-name', 'x'], { env })).code).toBe(0);
    }
  });

  it.each([
    [{ SVC_USERNAME: 'u', SVC_PASSWORD: 'p', SVC_TOKEN: 't' }, false],
    [{ SVC_TOKEN: 't' }, true],
  ])('says which credentials come from variables: %j', async (env, hasFile) => {
    const cwd = temporaryDirectory();
    const child = start(['serve', '--json', '--data', 'my.db'], { cwd, env });
    const facts = JSON.parse(await firstLine(child));
    expect(facts.credentials_variables).toEqual(Object.keys(env));
    expect(facts.credentials_file).toBe(hasFile ? join(cwd, 'my.db.credentials.json') : null);
    const end = waitForExit(child);
    child.kill('SIGTERM');
    const { stderr } = await end;
    expect(stderr).toContain(`the service accepts the credentials of ${Object.keys(env).join(', ')}\n`);
    expect(stderr).toContain(`to keep this URL at the next start, add --port ${new URL(facts.url).port}\n`);
  });

  it('removes the unfinished credentials of a process that was killed', async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, '.my.db.credentials.json.1.tmp'), '{"username":"local"');
    const child = start(['serve', '--json', '--data', 'my.db'], { cwd });
    await firstLine(child);
    expect(readdirSync(cwd).filter((name) => /^\.my\.db|\.lock$/.test(name))).toEqual([]);
  });

  it('reads credentials from a file, and reports an invalid one', async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'c.json'), '{"username":"u","password":"p","token":"t"}');
    const { url } = await serve(['--credentials', 'c.json'], { cwd });
    expect((await post(`${url}/v1/chat/completions`, question, { Authorization: 'Bearer t' })).status).toBe(200);
    expect((await post(`${url}/v1/chat/completions`, question, { Authorization: 'Bearer tok-en-1' })).status).toBe(401);
    writeFileSync(join(cwd, 'c.json'), '{"username":"u","password":"p"}');
    expect(await runBuilt(['serve', '--credentials', 'c.json'], { cwd })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('lack "token"'),
    });
    expect(await runBuilt(['serve', '--credentials', 'none.json'], { cwd })).toMatchObject({ code: 12 });
  });

  it('rejects other paths, methods and content types as servers do', async () => {
    const { url } = await serve(['--no-auth']);
    expect(await post(`${url}/nothing`, '{}')).toMatchObject({ status: 404, text: '{"detail":"Not Found"}' });
    const got = await fetch(`${url}/call/start`);
    expect([got.status, got.headers.get('allow')]).toEqual([405, 'POST']);
    expect((await post(`${url}/call/start`, '{}', { 'Content-Type': 'text/plain' })).status).toBe(415);
    expect((await post(`${url}/call/start`, '{}', { 'Content-Type': 'application/json; charset=utf-8' })).status).toBe(
      422,
    );
    expect((await post(`${url}/call/start`, `"${'x'.repeat(33 * 1024 * 1024)}"`)).status).toBe(413);
    const body = Readable.toWeb(Readable.from(mebibytes(40)));
    const chunked = { method: 'POST', body, duplex: 'half', headers: { 'Content-Type': 'application/json' } } as const;
    expect((await fetch(`${url}/call/start`, chunked)).status).toBe(413);
  });

  it('rejects requests that a web page could send', async () => {
    const { url } = await serve(['--no-auth']);
    const port = Number(new URL(url).port);
    const raw = (headers: string): Promise<string> =>
      new Promise((resolve) => {
        let text = '';
        const socket = connect(port, '127.0.0.1', () =>
          socket.write(
            `POST /v1/chat/completions HTTP/1.1\r\n${headers}Content-Type: application/json\r\nContent-Length: ${question.length}\r\n\r\n${question}`,
          ),
        );
        socket.on('data', (piece) => {
          text += piece;
          if (text.includes('\r\n\r\n')) socket.destroy();
        });
        socket.on('close', () => resolve(text.split('\r\n')[0] ?? ''));
      });
    expect(await raw(`Host: 127.0.0.1:${port}\r\n`)).toBe('HTTP/1.1 200 OK');
    expect(await raw(`Host: localhost:${port}\r\nOrigin: http://localhost:${port}\r\n`)).toBe('HTTP/1.1 200 OK');
    expect(await raw('Host: evil.example\r\n')).toBe('HTTP/1.1 403 Forbidden');
    expect(await raw(`Host: 127.0.0.1:${port}\r\nOrigin: http://evil.example\r\n`)).toBe('HTTP/1.1 403 Forbidden');
    expect(await raw(`Host: 127.0.0.1:${port}\r\nOrigin: null\r\n`)).toBe('HTTP/1.1 403 Forbidden');
    const preflight = await fetch(`${url}/call/start`, { method: 'OPTIONS' });
    expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([405, null]);
  });

  it('forwards chats to an upstream server, without the credentials of the caller', async () => {
    const upstream = await rawServer((socket) => socket.end(httpAnswer('{"choices":[],"model":"up"}')));
    const { url, env } = await serve(['--upstream', `${upstream.url}/v1`], { env: { SVC_UPSTREAM_TOKEN: 'up-token' } });
    const body = '{"messages":[], "priority":5,"seed":9007199254740993}';
    const reply = await post(`${url}/v1/chat/completions`, body, { Authorization: `Bearer ${env.SVC_TOKEN}` });
    expect(reply).toMatchObject({ status: 200, text: '{"choices":[],"model":"up"}' });
    const request = upstream.received[0]?.toString() ?? '';
    expect(request).toMatch(/^POST \/v1\/chat\/completions HTTP/);
    expect(request).toContain('\r\nAuthorization: Bearer up-token\r\n');
    expect(request).not.toContain(env.SVC_TOKEN);
    expect(request.endsWith(body)).toBe(true);
  });

  it('passes on and records what an upstream server says in headers, but for what concerns only the two', async () => {
    const passed = {
      'content-type': 'application/json',
      date: 'Tue, 01 Jan 2030 00:00:00 GMT',
      'request-id': 'r-1',
      'retry-after-ms': '10',
      'www-authenticate': 'Bearer',
      'x-litellm-response-cost': '0.25',
      'x-new-header': 'new',
      'x-new-token': 'secret-2',
      'x-ratelimit-remaining-tokens': '7',
    };
    const own = {
      'Access-Control-Allow-Origin': '*',
      'Keep-Alive': 'timeout=9',
      Location: 'https://other.example/',
      'Set-Cookie': 'a=secret-1',
      'Strict-Transport-Security': 'max-age=9',
    };
    const lines = Object.entries({ ...passed, ...own }).map(([name, value]) => `${name}: ${value}\r\n`);
    const upstream = await rawServer((socket) =>
      socket.end(httpAnswer('{"choices":[]}', '429 Busy', lines.join('')), 'latin1'),
    );
    const har = join(temporaryDirectory(), 'r.har');
    const chat = async (flags: readonly string[]) => {
      const { url, child } = await serve(['--no-auth', ...flags]);
      const { status, headers } = await post(`${url}/v1/chat/completions`, '{"messages":[]}');
      child.kill('SIGTERM');
      await waitForExit(child);
      return { status, headers: Object.fromEntries(headers) };
    };
    const connection = { connection: 'keep-alive', 'keep-alive': 'timeout=5', 'transfer-encoding': 'chunked' };
    const reply = { status: 429, headers: { ...passed, ...connection } };
    expect(await chat(['--upstream', upstream.url, '--record', har])).toEqual(reply);
    expect(readFileSync(har, 'utf8')).not.toContain('secret-');
    const { date, 'x-new-token': token, ...replayed } = passed;
    expect(await chat(['--replay', har])).toMatchObject({ status: 429, headers: replayed });
  });

  it('serves only the models of --models', async () => {
    const { env } = await serve(['--models', 'a, b']);
    const chat = (model: string) => runBuilt(['chat', 'hi', '--no-stdin', '-m', model, '--jq', '.model'], { env });
    expect(await chat('b')).toMatchObject({ code: 0, stdout: 'b\n' });
    expect(await chat('c')).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('the model "c" is not served; available: a, b'),
    });
  });

  it('forwards an upstream stream as it arrives, and responds 502 when there is none', async () => {
    const served = await serve();
    const front = await serve(['--upstream', served.url], { env: { SVC_UPSTREAM_TOKEN: served.env.SVC_TOKEN ?? '' } });
    const direct = await runBuilt(['chat', 'x', '--format', 'text', '-q'], { env: served.env });
    expect((await runBuilt(['chat', 'x', '--format', 'text', '-q', '--stream'], { env: front.env })).stdout).toBe(
      direct.stdout,
    );
    const lost = await serve(['--upstream', 'http://127.0.0.1:9']);
    const failed = await runBuilt(['chat', 'x'], { env: lost.env });
    expect({ code: failed.code, stdout: failed.stdout }).toEqual({ code: 8, stdout: '' });
  });

  it.each([
    [['--port', 'x'], 2],
    [['--port', '70000'], 2],
    [['--upstream', 'ftp://x'], 2],
    [['--models', 'a,,b'], 2],
    [['--models', 'a', '--upstream', 'http://127.0.0.1:9'], 2],
    [['--log', 'xml'], 2],
    [['--max-body', '5X'], 2],
    [['--drain', 'soon'], 2],
    [['--data', '/dev/null/x.db'], 12],
  ])('%j ends with exit %i and one clear line', async (args, code) => {
    const result = await runBuilt(['serve', '--no-auth', ...args]);
    expect(result.code).toBe(code);
    expect(result.stderr).toMatch(/^svc: [^\n]+\n/);
  });

  it('leaves a wrong data file unchanged, and creates no credentials beside it', async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'notes.txt'), '{"my":"config"}\n', { mode: 0o644 });
    const { code, stderr } = await runBuilt(['serve', '--data', 'notes.txt'], { cwd });
    expect({ code, stderr }).toEqual({
      code: 12,
      stderr: expect.stringContaining('notes.txt: file is not a database'),
    });
    expect(statSync(join(cwd, 'notes.txt')).mode & 0o777).toBe(0o644);
    // Newer versions of Node keep compiled code in the home directory.
    expect(readdirSync(cwd).filter((name) => name !== '.cache')).toEqual(['notes.txt']);
  });

  it('reports that the port is in use', async () => {
    const { url } = await serve();
    const { code, stderr } = await runBuilt(['serve', '--no-auth', '--port', new URL(url).port]);
    expect({ code, stderr }).toMatchObject({ code: 12, stderr: expect.stringContaining('it is in use') });
  });
});

describe('a schema of response_format', () => {
  const withSchema = (schema: object): string =>
    JSON.stringify({
      messages: [{ role: 'user', content: 'x' }],
      response_format: { type: 'json_schema', json_schema: { name: 'a', schema } },
    });

  it('with a pattern gets a value that matches', async () => {
    const { url } = await serve(['--no-auth']);
    const contentFor = async (schema: object): Promise<string> => {
      const { text } = await post(`${url}/v1/chat/completions`, withSchema(schema));
      return JSON.parse(text).choices[0].message.content;
    };
    expect(await contentFor({ type: 'string', pattern: '^\\d{4}$' })).toBe('"0000"');
    expect(await contentFor({ type: 'string', pattern: '^(red|green)$' })).toBe('"red"');
    expect(await contentFor({ type: 'string', pattern: '^[a-z]{3,5}-\\d{2}$' })).toBe('"aaa-00"');
    expect(await contentFor({ type: 'string', pattern: '^[a-z]+$', minLength: 3 })).toBe('"aaa"');
    const code = { type: 'string', pattern: '^[A-Z]{2}\\d+$', maxLength: 4 };
    expect(await contentFor({ type: 'object', properties: { code }, required: ['code'] })).toBe('{"code":"AA0"}');
  });

  it('that is hostile is rejected within its limit of time, and other clients get responses', async () => {
    const { url } = await serve(['--no-auth']);
    const doubled = Array.from({ length: 40 }, (_, at) => {
      const next = { $ref: `#/$defs/d${at + 1}` };
      return [`d${at}`, { anyOf: [next, next] }];
    });
    const hostile: readonly (readonly [schema: object, message: string])[] = [
      [{ type: 'string', pattern: '^(?=(a+)+$)' }, 'unsupported pattern'],
      [
        { type: 'string', pattern: '^(a|a?)+$', allOf: [{ pattern: '^(a+)+!$' }], minLength: 60 },
        'it took more than 1 s',
      ],
      [{ type: 'string', pattern: '(?:(?:a){10000}){10000}', minLength: 9 }, 'unsupported pattern'],
      [{ $ref: '#/$defs/d0', $defs: { ...Object.fromEntries(doubled), d40: { not: {} } } }, 'it took more than 1 s'],
    ];
    let pending = hostile.length;
    const responses = hostile.map(async ([schema]) => {
      const response = await post(`${url}/v1/chat/completions`, withSchema(schema));
      pending -= 1;
      return response;
    });
    let healthy = 0;
    while (pending > 0) {
      expect((await fetch(`${url}/healthz`)).status).toBe(200);
      healthy += 1;
    }
    for (const [at, { status, text }] of (await Promise.all(responses)).entries()) {
      expect(text).toContain(hostile[at]?.[1]);
      expect(status).toBe(400);
    }
    expect(healthy).toBeGreaterThan(0);
  });
});
