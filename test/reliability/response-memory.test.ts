import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { countingServer } from '../support/counting-server.ts';
import { figure } from '../support/figure.ts';
import { withPeak } from '../support/memory.ts';
import { start, waitForExit } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

const MIB = 1024 * 1024;
const MAX_BYTES = 200 * MIB;
const LINE_COUNT = 16;
// Text that gzip shortens by a quarter.
const CHUNK = randomBytes(48 * 1024).toString('base64');
const LARGE_CHUNKS = 20 * 16;

const chat = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };
const [before = '', after = ''] = JSON.stringify({ choices: [{ message: { content: '|' } }] }).split('|');

function* large(start = before, end = after): Generator<string> {
  yield start;
  for (let count = 0; count < LARGE_CHUNKS; count += 1) yield CHUNK;
  yield end;
}

// Of 7 MiB, in events of 1 KiB.
function* stream(): Generator<string> {
  const event = (choice: object): string => `data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`;
  const events = event({ delta: { content: CHUNK.slice(0, 1024) } }).repeat(64);
  for (let count = 0; count < 7 * 16; count += 1) yield events;
  yield `${event({ delta: {}, finish_reason: 'stop' })}data: [DONE]\n\n`;
}

type Form = readonly [headers: Readonly<Record<string, string | number>>, body: () => Iterable<string | Buffer>];

const json = { 'content-type': 'application/json' };
const knownLength = before.length + LARGE_CHUNKS * CHUNK.length + after.length;
const zippedLarge = gzipSync([...large()].join(''));
const zippedStream = gzipSync([...stream()].join(''));
const forms = {
  'of a known length': [{ ...json, 'content-length': knownLength }, large],
  chunked: [json, large],
  'with line breaks': [json, () => large('{\n "choices": [\n  {"message": {"content": "', '"}}\n ]\n}\n')],
  'in gzip': [{ ...json, 'content-encoding': 'gzip' }, () => [zippedLarge]],
  streamed: [{ 'content-type': 'text/event-stream' }, stream],
  'streamed in gzip': [{ 'content-type': 'text/event-stream', 'content-encoding': 'gzip' }, () => [zippedStream]],
} as const satisfies Record<string, Form>;

async function respond(response: ServerResponse, [headers, body]: Form): Promise<void> {
  response.writeHead(200, headers);
  let wake = (): void => {};
  response.on('drain', () => wake()).on('close', () => wake());
  for (const part of body())
    if (!response.destroyed && !response.write(part))
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
  response.end();
}

/** Runs a command against a service with large responses, and returns its output and its peak of memory. */
async function runLarge(args: readonly string[], cwd: string, stdin: string, form: Form, requestsBeforeFirst = 1) {
  let first: ServerResponse | undefined;
  const { url } = await countingServer(
    () => '',
    ({ count }, response) => {
      first ??= response;
      if (count === requestsBeforeFirst) void respond(first, form);
      if (response !== first) void respond(response, form);
    },
  );
  const child = start(args, { cwd, env: { SVC_TOKEN: 'tok-en-1', SVC_BASE_URL: url } });
  const ended = withPeak(child, waitForExit(child));
  child.stdin?.end(stdin);
  const end = await ended;
  expect(end.code, end.stderr).toBe(0);
  return end;
}

it.each([
  ['of a known length', '8', []],
  ['chunked', '8', []],
  ['with line breaks', '8', []],
  ['in gzip', '8', []],
  ['streamed', '8', []],
  ['streamed in gzip', '8', []],
  ['of a known length', '64', ['--ordered']],
  ['chunked', '64', ['--ordered']],
  ['streamed in gzip', '64', ['--ordered']],
] as const)(
  'responses %s of a batch with --concurrency %s %j share one budget of memory',
  async (name, concurrency, flags) => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'in.jsonl'), `${JSON.stringify(chat)}\n`.repeat(LINE_COUNT));
    const args = ['chat', '--batch', 'in.jsonl', '-o', 'out.jsonl', '--concurrency', concurrency, ...flags];
    const { peak, stderr } = await runLarge(args, cwd, '', forms[name]);
    figure(
      `${LINE_COUNT} responses ${name}, --concurrency ${concurrency} ${flags}: ${Math.ceil(peak / MIB)} MiB of memory`,
    );
    expect(stderr).toContain(`${LINE_COUNT} lines: ${LINE_COUNT} done`);
    expect(peak).toBeLessThan(MAX_BYTES);
  },
);

// 128 responses of 0.9 MiB, of which 63 end before the first one, whose result comes first.
it('responses that wait for a slow first line with --ordered share one budget of memory', async () => {
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, 'in.jsonl'), `${JSON.stringify(chat)}\n`.repeat(128));
  const args = ['chat', '--batch', 'in.jsonl', '-o', 'out.jsonl', '--concurrency', '64', '--ordered'];
  const medium = () => [before, ...Array<string>(14).fill(CHUNK), after];
  const { peak, stderr } = await runLarge(args, cwd, '', [json, medium], 64);
  figure(`128 responses of 0.9 MiB behind a slow line, --ordered: ${Math.ceil(peak / MIB)} MiB of memory`);
  expect(stderr).toContain('128 lines: 128 done');
  expect(peak).toBeLessThan(MAX_BYTES);
});

it('50 tool calls at once share one budget of memory', async () => {
  const call = (id: number): string =>
    `${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'chat', arguments: chat } })}\n`;
  const calls = Array.from({ length: 50 }, (_, id) => call(id)).join('');
  const { peak, stdout } = await runLarge(['mcp'], temporaryDirectory(), calls, forms.chunked);
  figure(`svc mcp with 50 chats of 20 MiB at once: ${Math.ceil(peak / MIB)} MiB of memory`);
  expect(stdout.trim().split('\n')).toHaveLength(50);
  expect(peak).toBeLessThan(MAX_BYTES);
});
