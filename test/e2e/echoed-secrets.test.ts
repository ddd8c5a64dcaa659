import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runBuilt } from '../support/built.ts';
import { httpAnswer, rawServer } from '../support/raw-server.ts';
import { temporaryDirectory } from '../support/svc.ts';

const header = 'canary-header-7Qx/+"1';
const salt = 'canary-salt-9Zk2-canary-salt-9Zk2-canary-salt-9Zk2';
const token = 'canary-token-4Rt8';
const canaries = ['canary-header-7Qx', 'canary-salt-9Zk2', token];

const body = JSON.stringify({ model: 'm', cache_salt: salt, messages: [{ role: 'user', content: 'x' }] });

/** The responses of services that return the request that they got: its headers and its body. */
const echoes: readonly (readonly [name: string, echo: (request: string) => string])[] = [
  [
    '422 with a list',
    (text) => httpAnswer(JSON.stringify({ detail: [{ loc: ['body', 'model'], msg: text }] }), '422 X'),
  ],
  [
    '400 with a code',
    (text) => httpAnswer(JSON.stringify({ error: { message: 'no', code: text, param: text } }), '400 X'),
  ],
  ['500 as text', (text) => httpAnswer(text, '500 X', 'Content-Type: text/plain\r\n')],
  [
    'headers',
    (text) => httpAnswer('{}', '400 X', `x-request-id: ${headerOf(text)}\r\nx-ratelimit-limit: ${headerOf(text)}\r\n`),
  ],
  ['an error under 200', (text) => httpAnswer(JSON.stringify({ error: text }))],
  ['no JSON', (text) => httpAnswer(text)],
  [
    'an error event',
    (text) =>
      httpAnswer(`data: ${JSON.stringify({ error: text })}\n\n`, '200 OK', 'Content-Type: text/event-stream\r\n'),
  ],
  [
    'headers of a success',
    (text) =>
      httpAnswer(
        '{"id":"c","choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}',
        '200 OK',
        `Content-Type: application/json\r\nx-request-id: ${headerOf(text)}\r\n`,
      ),
  ],
];

function headerOf(request: string): string {
  return /x-api-key: (.*)/i.exec(request)?.[1] ?? '';
}

function filesIn(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .map((name) => join(directory, name))
    .filter((path) => statSync(path).isFile() && !path.endsWith('in.jsonl'));
}

describe.each(echoes)('a service that echoes the request: %s', (_, echo) => {
  it.each([
    ['a single request', ['-f', 'in.jsonl', '-o', 'out.json']],
    ['a single request on stdout', ['-f', 'in.jsonl']],
    ['JSON errors', ['-f', 'in.jsonl', '--error-format', 'json']],
    ['a batch', ['--batch', 'in.jsonl', '-o', 'out.jsonl']],
    ['a batch with expectations', ['--batch', 'in.jsonl', '-o', 'out.jsonl', '--expect-text', 'zzz']],
  ])('no file and no stream of %s shows a secret', async (__, flags) => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'in.jsonl'), body);
    const { url, received } = await rawServer((socket, request) => socket.end(echo(request.toString())));
    const args = ['chat', '-v', '-H', `X-Api-Key: ${header}`, '--junit', 'j.xml', '--summary', 's.md', ...flags];
    const env = { SVC_BASE_URL: url, SVC_TOKEN: token, SVC_RETRIES: '0', SVC_HISTORY: 'on' };
    const { stdout, stderr } = await runBuilt(args, { cwd, env });
    expect(received.length).toBeGreaterThan(0);
    const written = [stdout, stderr, ...filesIn(cwd).map((path) => readFileSync(path, 'utf8'))];
    expect(written.length).toBeGreaterThan(3);
    for (const canary of canaries) expect(written.filter((text) => text.includes(canary))).toEqual([]);
  });
});

const [firstHalf, secondHalf] = [salt.slice(0, 20), salt.slice(20)];

describe.each([
  ['in upper case', { error: { message: salt.toUpperCase(), param: token.toUpperCase() } }],
  ['in lower case', { detail: [{ loc: ['header'], msg: `${header} ${token}`.toLowerCase() }] }],
  ['in two strings', { error: { message: 'no', values: [firstHalf, secondHalf] } }],
  [
    'in two messages',
    {
      detail: [
        { loc: ['a'], msg: firstHalf },
        { loc: ['b'], msg: `${secondHalf} is wrong` },
      ],
    },
  ],
  ['in two strings, in upper case', { error: { message: firstHalf.toUpperCase(), code: secondHalf.toUpperCase() } }],
])('a service that echoes secrets %s', (_, echo) => {
  it.each([
    ['a single request', ['-f', 'in.jsonl']],
    ['JSON errors', ['-f', 'in.jsonl', '--error-format', 'json']],
    ['a batch', ['--batch', 'in.jsonl', '-o', 'out.jsonl']],
  ])('no file and no stream of %s shows a piece of them', async (__, flags) => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'in.jsonl'), body);
    const { url, received } = await rawServer((socket) => socket.end(httpAnswer(JSON.stringify(echo), '422 X')));
    const args = ['chat', '-v', '-H', `X-Api-Key: ${header}`, '--junit', 'j.xml', '--summary', 's.md', ...flags];
    const env = { SVC_BASE_URL: url, SVC_TOKEN: token, SVC_RETRIES: '0', SVC_HISTORY: 'on' };
    const { stdout, stderr } = await runBuilt(args, { cwd, env });
    expect(received.length).toBeGreaterThan(0);
    const written = [stdout, stderr, ...filesIn(cwd).map((path) => readFileSync(path, 'utf8'))];
    for (const piece of ['canary-', firstHalf, secondHalf])
      expect(written.filter((text) => text.toLowerCase().includes(piece.toLowerCase()))).toEqual([]);
  });
});
