import { describe, expect, it } from 'vitest';
import { runBuilt } from '../support/built.ts';
import { bodyOf, httpAnswer, rawServer } from '../support/raw-server.ts';
import { credentials } from '../support/svc.ts';

async function sendRequest(
  args: readonly string[],
  stdin = '',
): Promise<{ head: string; body: Buffer; code: number | null; stderr: string }> {
  const server = await rawServer((socket) =>
    socket.end(httpAnswer('{"id":"1","trace_id":"2","choices":[{"index":0}],"paths":[]}')),
  );
  const { code, stderr } = await runBuilt(args, { stdin, env: { ...credentials, SVC_BASE_URL: server.url } });
  const [request = Buffer.alloc(0)] = server.received;
  return { head: request.toString('latin1', 0, request.indexOf('\r\n\r\n')), body: bodyOf(request), code, stderr };
}

describe('bytes on the wire', () => {
  const whole =
    '{"start":{"project_id":"a/b","op_name":"x","attributes":{"n":9007199254740993,"f":1.0},"inputs":{},"started_at":"2026-01-01T00:00:00Z","id":"0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05","trace_id":"0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e06"}}';

  it('a body given whole arrives byte for byte', async () => {
    const { body, code, head } = await sendRequest(['call', 'start'], whole);
    expect(code).toBe(0);
    expect(body.toString()).toBe(whole);
    expect(head.split('\r\n')[0]).toBe('POST /call/start HTTP/1.1');
    expect(head).toContain('\r\nContent-Type: application/json\r\n');
    expect(head).toContain(`\r\nAuthorization: Basic ${btoa('api:pass-word-1')}`);
    expect(head.match(/content-length/gi)).toHaveLength(1);
  });

  it('so do unusual spellings: whitespace, escapes, duplicates, big numbers, a final newline', async () => {
    const odd = '\n{ "messages" : [ {"role":"user","content":"\\u00e9 é 😀"} ] ,\t"seed":1e3, "x":1E400,"x":-0.0 }\r\n';
    const { body, stderr } = await sendRequest(['chat', '--exact', '--json'], odd);
    expect(body.toString()).toBe(odd);
    expect(stderr).toContain('x: is given more than once');
  });

  it('only a byte order mark is dropped', async () => {
    expect((await sendRequest(['call', 'start'], `\ufeff${whole}`)).body.toString()).toBe(whole);
  });

  it('a flag changes only the field it names', async () => {
    const { body } = await sendRequest(
      ['call', 'start', '-f', '-', '--op-name', 'y', '--set', 'attributes.k:=2.50'],
      whole,
    );
    expect(body.toString()).toBe(
      whole.replace('"op_name":"x"', '"op_name":"y"').replace('"f":1.0', '"f":1.0,"k":2.50'),
    );
  });

  it('64-bit integers arrive as their digits, and those beyond are refused', async () => {
    expect((await sendRequest(['chat', 'x', '--seed', '9223372036854775807'])).body.toString()).toContain(
      '"seed":9223372036854775807',
    );
    const { code, body, stderr } = await sendRequest(['chat', 'x', '--seed', '9223372036854776001']);
    expect({ code, body: body.toString() }).toEqual({ code: 3, body: '' });
    expect(stderr).toContain('--seed: must be an integer from -9223372036854775808 to 9223372036854775807');
  });

  it('Bearer for chats, headers of the user, no header twice', async () => {
    const { head } = await sendRequest([
      'chat',
      'x',
      '-H',
      'OpenAI-Project: team/project',
      '--header=X-Empty:',
      '-H',
      'User-Agent: mine',
    ]);
    expect(head).toContain('\r\nAuthorization: Bearer tok-en-1');
    expect(head).toContain('\r\nOpenAI-Project: team/project\r\n');
    expect(head).toContain('\r\nX-Empty: \r\n');
    expect(head.match(/user-agent: .*/gi)).toEqual(['User-Agent: mine']);
  });

  it.each([
    'Content-Type: text/plain',
    'authorization: x',
    'Host: x',
    'Content-Length: 1',
    'Transfer-Encoding: chunked',
    'no colon',
    'bad name: x',
    'X: a\nb',
  ])('the header %j is rejected, and its value is not shown', async (word) => {
    const { code, body, stderr } = await sendRequest(['chat', 'x', '-H', word]);
    expect({ code, body: body.toString() }).toEqual({ code: 2, body: '' });
    expect(stderr).not.toContain(word.split(': ')[1] ?? 'nothing');
  });

  it('a base URL keeps its prefix and does not double /v1 or /v1/preview', async () => {
    const server = await rawServer((socket) => socket.end(httpAnswer('{"choices":[{"index":0}]}')));
    for (const base of ['', '/', '/v1', '/v1/', '/proxy/v1', '/proxy/'])
      await runBuilt(['chat', 'x', '--no-stdin'], { env: { ...credentials, SVC_BASE_URL: server.url + base } });
    for (const base of ['/v1/preview', '/x/v1/preview/', '/v1'])
      await runBuilt(['train', '-f', '-', '--no-check'], {
        env: { ...credentials, SVC_BASE_URL: server.url + base },
        stdin: '{}',
      });
    const paths = server.received.map((request) => request.toString().split(' ')[1]);
    expect(paths).toEqual([
      ...['/v1', '/v1', '/v1', '/v1', '/proxy/v1', '/proxy/v1'].map((prefix) => `${prefix}/chat/completions`),
      ...['/v1', '/x/v1', '/v1'].map((prefix) => `${prefix}/preview/training-jobs`),
    ]);
  });

  it('Accept asks for events only when the body asks for a stream', async () => {
    const server = await rawServer((socket) => socket.end(httpAnswer('{"choices":[{"index":0}]}')));
    for (const flags of [[], ['--stream'], ['--no-stream']])
      await runBuilt(['chat', 'x', '--no-stdin', ...flags], { env: { ...credentials, SVC_BASE_URL: server.url } });
    const accepted = server.received.map((request) => /^accept: (.*)\r$/im.exec(request.toString())?.[1]);
    expect(accepted).toEqual(['application/json', 'text/event-stream', 'application/json']);
  });
});
