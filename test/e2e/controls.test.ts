import { mkdirSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { controls, forbiddenIn, formatting, shown } from '../support/controls.ts';
import { done, event } from '../support/event-stream.ts';
import { figure } from '../support/figure.ts';
import { rawServer } from '../support/raw-server.ts';
import { temporaryDirectory } from '../support/svc.ts';
import { hasTerminal, runOnTerminal } from '../support/terminal.ts';

const usual = {
  SVC_TOKEN: 'tok-en-1',
  SVC_USERNAME: 'api',
  SVC_PASSWORD: 'pass-word-1',
  NO_COLOR: '1',
  SVC_RETRIES: '0',
};
// Each is followed by a period, which joiners do not join with.
const all = [...controls, ...formatting];
const text = all.map((character) => `${character}.`).join('');
const quoted = JSON.stringify(text);
// JSON requires escapes for C0 only; here all other characters are written as bytes.
const whole = (body: string, status = '200 OK', headers = 'Content-Type: application/json\r\n'): string =>
  `HTTP/1.1 ${status}\r\n${headers}Connection: close\r\n\r\n${body}`;
const delta = (json: string): string => event(`{"choices":[{"index":0,"delta":${json},"finish_reason":null}]}`);
const stream = (...events: string[]): string =>
  `${whole('', '200 OK', 'Content-Type: text/event-stream\r\n')}${events.join('')}${event('{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}')}${done}`;
const message = (json: string): string =>
  whole(`{"model":"m","usage":{},"choices":[{"index":0,"message":${json},"finish_reason":"stop"}]}`);
// A header holds neither C0 nor DEL, and is read byte by byte.
const c1 = controls.slice(33);
const header = [...c1, ...formatting].map((character) => `${character}.`).join('');

interface Path {
  readonly name: string;
  readonly args: readonly string[];
  readonly answer?: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  /** The characters that can take this path; all if undefined. */
  readonly only?: readonly string[];
}

const chat = ['chat', 'x'];
const start = ['call', 'start', '--project-id', 'a/b', '--op-name', 'x'];
const schema = ['feedback', 'schema', '--project-id', 'a/b', '--since', '1d'];
// A word of a command line holds everything but NUL.
const inWord = all.slice(1);
const word = inWord.map((character) => `${character}.`).join('');
const line = word.replace(/\n/g, '');

const paths: readonly Path[] = [
  { name: 'a streamed text', args: chat, answer: stream(delta(`{"content":${quoted}}`)) },
  {
    name: 'a streamed text, a character at a time',
    args: chat,
    answer: stream(...[...text].map((character) => delta(`{"content":${JSON.stringify(character)}}`))),
  },
  {
    name: 'a streamed text, half a character at a time',
    args: chat,
    answer: stream(
      ...text.split('').map((half) => delta(`{"content":"\\u${half.charCodeAt(0).toString(16).padStart(4, '0')}"}`)),
    ),
  },
  {
    name: 'streamed reasoning',
    args: chat,
    answer: stream(...[...text].map((one) => delta(`{"reasoning":${JSON.stringify(one)}}`))),
  },
  {
    name: 'streamed tool calls',
    args: chat,
    answer: stream(delta(`{"tool_calls":[{"index":0,"function":{"name":${quoted},"arguments":${quoted}}}]}`)),
  },
  { name: 'chunks', args: [...chat, '--format', 'jsonl'], answer: stream(delta(`{"content":${quoted}}`)) },
  {
    name: 'a streamed text as one object',
    args: [...chat, '--json', '--stream'],
    answer: stream(delta(`{"content":${quoted}}`)),
  },
  { name: 'an error event', args: chat, answer: stream(event(`{"error":{"message":${quoted}}}`)) },
  {
    name: 'an event that is not JSON',
    args: chat,
    answer: stream(`data: ${text.replace(/[\r\n]/g, '')}\n\n`),
    only: [],
  },
  {
    name: 'a text written through',
    args: [...chat, '-o', '/dev/stdout'],
    answer: stream(delta(`{"content":${quoted}}`)),
  },
  { name: 'a text in one piece', args: [...chat, '--no-stream'], answer: message(`{"content":${quoted}}`) },
  {
    name: 'reasoning in one piece',
    args: [...chat, '--no-stream'],
    answer: message(`{"reasoning":${quoted},"content":"a"}`),
  },
  { name: 'a refusal', args: [...chat, '--no-stream'], answer: message(`{"refusal":${quoted}}`) },
  { name: 'tool calls', args: [...chat, '--no-stream'], answer: message(`{"tool_calls":[{"id":${quoted}}]}`) },
  {
    name: 'finish reasons and usage under -v',
    args: [...chat, '--no-stream', '-v'],
    answer: whole(`{"usage":{"prompt_tokens":${quoted}},"choices":[{"finish_reason":${quoted},"message":{}}]}`),
  },
  { name: 'an answer that breaks the interface', args: chat, answer: whole(text) },
  { name: 'one that is no object', args: chat, answer: whole(quoted) },
  ...['json', 'jsonl', 'text', 'table'].flatMap((format) => [
    {
      name: `a record as ${format}`,
      args: [...start, '--format', format],
      answer: whole(`{"id":${quoted},${quoted}:[${quoted}]}`),
    },
    {
      name: `rows as ${format}`,
      args: [...schema, '--format', format],
      answer: whole(`{"paths":[{"path":${quoted},${quoted}:1}]}`),
    },
  ]),
  {
    name: 'a warning about the answer',
    args: [...schema, '--json'],
    answer: whole(`{"paths":[{"path":"a","type":${quoted}}]}`),
  },
  { name: 'an error', args: chat, answer: whole(`{"error":{"message":${quoted}}}`, '400 Bad Request') },
  { name: 'an error, detail', args: start, answer: whole(`{"detail":${quoted}}`, '400 Bad Request') },
  { name: 'an error, reason', args: start, answer: whole(`{"reason":${quoted}}`, '500 Oh') },
  { name: 'an error of no known shape', args: start, answer: whole(`{${quoted}:1}`, '502 Oh') },
  { name: 'an error in plain text', args: chat, answer: whole(text, '400 Bad Request', '') },
  { name: 'an error in HTML', args: chat, answer: whole(`<html><title>${text}</title>`, '400 Bad Request', '') },
  {
    name: 'findings, where',
    args: start,
    answer: whole(`{"detail":[{"loc":["body",${quoted}],"msg":"m"}]}`, '422 No'),
  },
  {
    name: 'findings, what',
    args: start,
    answer: whole(`{"detail":[{"loc":["body","start"],"msg":${quoted}}]}`, '422 No'),
  },
  {
    name: 'an error as JSON',
    args: [...chat, '--error-format', 'json'],
    answer: whole(`{"error":{"message":${quoted}}}`, '400 Bad Request'),
  },
  // undici keeps some header values that arrive in pieces.
  { name: 'the words of a status', args: chat, answer: whole('', `400 ${header}`), only: [] },
  {
    name: 'headers under -v',
    args: [...chat, '-v', '--no-stream'],
    answer: whole('{"choices":[{"index":0}]}', '200 OK', `X-A: ${header}\r\n`),
    only: c1,
  },
  {
    name: 'a request id',
    args: [...chat, '--error-format', 'json'],
    answer: whole('', '400 No', `X-Request-Id: ${header}\r\n`),
    only: c1,
  },
  {
    name: 'where it redirects to',
    args: chat,
    answer: whole('', '307 Away', `Location: ${header}\r\n`),
    only: c1,
  },
  {
    name: 'members of a file',
    args: ['chat', '-f', 'body.json', '--dry-run', '--strict'],
    files: { 'body.json': `{"messages":[{"role":"user","content":"x"}],${quoted}:1,${quoted}:2}` },
  },
  {
    name: 'values of a file',
    args: ['chat', '-f', 'body.json', '--dry-run'],
    files: { 'body.json': `{"messages":[{"role":"user","content":"x"}],"stop_token_ids":${JSON.stringify(all)}}` },
  },
  {
    name: 'a dry run',
    args: ['chat', '-f', 'body.json', '--dry-run'],
    files: { 'body.json': `{"messages":[{"role":"user","content":${quoted}}]}` },
  },
  {
    name: 'a curl command',
    args: ['chat', '-f', 'body.json', '--curl'],
    files: { 'body.json': `{"messages":[{"role":"user","content":${quoted}}]}` },
  },
  {
    name: 'ids of a call whose outcome is unknown',
    args: ['call', 'start', '-f', 'body.json', '--no-check', '--retries', '0'],
    answer: whole('', '502 Oh'),
    files: { 'body.json': `{"start":{"project_id":"a/b","op_name":"x","id":${quoted},"trace_id":${quoted}}}` },
  },
  { name: 'the path of a file', args: ['chat', '-f', `no/${word.replace(/\//g, '')}`], only: inWord },
  { name: 'the path of a result', args: [...chat, '-o', `no/${word}`], only: inWord },
  { name: 'an unknown command', args: [line], only: inWord },
  { name: 'an unknown option', args: ['chat', `--${line}`], only: inWord },
  { name: 'a value that is refused', args: [...chat, '--format', word], only: inWord },
  { name: 'a name of a profile', args: [...chat, '--profile', word], only: inWord },
  { name: 'a base URL', args: [...chat, '--base-url', word], only: inWord },
  { name: 'an unknown help topic', args: ['help', word], only: inWord },
  { name: 'a time limit', args: [...chat, '--timeout', word], only: inWord },
  { name: 'a prompt under --dry-run', args: ['chat', word, '--dry-run'], only: inWord },
  { name: 'a value of the environment', args: chat, env: { SVC_ERROR_FORMAT: word }, only: inWord },
  ...[
    ['profile', 'list'],
    ['profile', 'show'],
    ['auth', 'status'],
    ['chat', 'x'],
  ].map((args) => ({
    name: `a store that something else wrote: ${args.join(' ')}`,
    args,
    files: {
      'config/config.json': `{"current":${quoted},"profiles":{${quoted}:{"base_url":${quoted},"username":${quoted},"token":"tok-en-1","headers":{${quoted}:${quoted}},"bearer_origins":[${quoted}]}}}`,
    },
    env: { SVC_BASE_URL: '', SVC_TOKEN: '' },
  })),
  {
    name: 'a store that is broken',
    args: ['profile', 'list'],
    files: { 'config/config.json': `{"current":${text}` },
    only: [],
  },
];

// Splits characters wherever possible: each byte that is not plain text is sent separately.
async function drip(socket: Socket, bytes: Buffer): Promise<void> {
  socket.setNoDelay(true);
  for (const [piece] of bytes.toString('latin1').matchAll(/[ -~]+|[^ -~]/g)) {
    socket.write(Buffer.from(piece, 'latin1'));
    await new Promise((resolve) => setImmediate(resolve));
  }
  socket.end();
}

describe.skipIf(!hasTerminal)('on a terminal (skipped where `script` of util-linux is missing)', () => {
  it(`${paths.length} ways to the terminal are tried with 95 characters`, () => {
    expect({ controls: controls.length, formatting: formatting.length }).toEqual({ controls: 65, formatting: 30 });
    figure(
      `65 control and 30 formatting characters, ${paths.length} ways, each answer in the smallest pieces: 0 reached it`,
    );
  });

  it.each(paths)('$name: nothing controls it', async ({ args, answer = '', files = {}, env = {}, only = all }) => {
    const server = await rawServer((socket) => drip(socket, Buffer.from(answer)));
    const cwd = temporaryDirectory();
    mkdirSync(join(cwd, 'config'));
    for (const [name, content] of Object.entries(files)) writeFileSync(join(cwd, name), content);
    const { screen } = await runOnTerminal(args, {
      cwd,
      columns: 4000,
      // A service that is slow on a busy machine would be waited for with a spinner, which moves the cursor.
      env: { ...usual, CI: '1', SVC_BASE_URL: server.url, ...env },
    });
    expect(forbiddenIn(screen), screen).toEqual([]);
    const missing = only.filter((character) => !/[\t\r\n]/.test(character) && !comesThrough(screen, character));
    expect(missing.map(shown), screen).toEqual([]);
  });
});

// Shown as svc shows it, or as JSON writes what it must escape.
function comesThrough(screen: string, character: string): boolean {
  return (
    screen.includes(shown(character)) || (character < ' ' && screen.includes(JSON.stringify(character).slice(1, -1)))
  );
}
