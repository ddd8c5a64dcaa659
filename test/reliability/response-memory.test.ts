import { writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { countingServer } from '../support/counting-server.ts';
import { figure } from '../support/figure.ts';
import { memoryOf } from '../support/memory.ts';
import { start, waitForExit } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

const MIB = 1024 * 1024;
// Before the budget, up to 375 MiB; much of the rest is garbage that V8 has not collected yet.
const MAX_BYTES = 280 * MIB;
const CHUNK = 'x'.repeat(64 * 1024);

const chat = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };

async function sendText(response: ServerResponse, mebibytes: number, isChunked: boolean): Promise<void> {
  const [before, after] = JSON.stringify({ choices: [{ message: { content: '|' } }] }).split('|');
  const count = mebibytes * 16;
  const length = count * CHUNK.length + `${before}${after}`.length;
  response.writeHead(200, { 'content-type': 'application/json', ...(isChunked ? {} : { 'content-length': length }) });
  response.write(before);
  let wake = (): void => {};
  response.on('drain', () => wake()).on('close', () => wake());
  for (let sent = 0; sent < count && !response.destroyed; sent += 1)
    if (!response.write(CHUNK))
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
  response.end(after);
}

/** Runs a command against a service with large responses, and returns its output and its peak of memory. */
async function runLarge(args: readonly string[], cwd: string, stdin: string, mebibytes: number, isChunked: boolean) {
  const { url } = await countingServer(
    () => '',
    (_, response) => void sendText(response, mebibytes, isChunked),
  );
  const child = start(args, { cwd, env: { SVC_TOKEN: 'tok-en-1', SVC_BASE_URL: url } });
  const ended = waitForExit(child);
  child.stdin?.end(stdin);
  let peak = 0;
  const looking = setInterval(() => {
    peak = Math.max(peak, memoryOf(child.pid));
  }, 20);
  const end = await ended;
  clearInterval(looking);
  expect(end.code, end.stderr).toBe(0);
  return { ...end, peak };
}

for (const [kind, isChunked] of [
  ['of a known length', false],
  ['chunked', true],
] as const)
  for (const flags of [
    ['--concurrency', '8'],
    ['--concurrency', '64', '--ordered'],
  ])
    it(`responses ${kind} of a batch with ${flags.join(' ')} share one budget of memory`, async () => {
      const cwd = temporaryDirectory();
      writeFileSync(join(cwd, 'in.jsonl'), `${JSON.stringify(chat)}\n`.repeat(16));
      const args = ['chat', '--batch', 'in.jsonl', '-o', 'out.jsonl', ...flags];
      const { peak, stderr } = await runLarge(args, cwd, '', 20, isChunked);
      figure(`16 responses ${kind} of 20 MiB, ${flags.join(' ')}: ${Math.ceil(peak / MIB)} MiB of memory`);
      expect(stderr).toContain('16 lines: 16 done');
      expect(peak).toBeLessThan(MAX_BYTES);
    });

it('50 tool calls at once share one budget of memory', async () => {
  const call = (id: number): string =>
    `${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'chat', arguments: chat } })}\n`;
  const calls = Array.from({ length: 50 }, (_, id) => call(id)).join('');
  const { peak, stdout } = await runLarge(['mcp'], temporaryDirectory(), calls, 4, true);
  figure(`svc mcp with 50 chats of 4 MiB at once: ${Math.ceil(peak / MIB)} MiB of memory`);
  expect(stdout.trim().split('\n')).toHaveLength(50);
  expect(peak).toBeLessThan(MAX_BYTES);
});
