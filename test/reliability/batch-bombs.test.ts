import { createServer } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { figure } from '../support/figure.ts';
import { start, waitForExit } from '../support/process.ts';
import { listening } from '../support/secure-servers.ts';
import { temporaryDirectory } from '../support/svc.ts';
import { peakOf } from './peak.ts';

const MAX_MIB = 200;
// Each has 8 MiB of partial output in its result.
const MAX_STREAMS_MIB = 400;
const json = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';
const events = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n';
const part = 'x'.repeat(60_000);

it.each([
  ['texts', `${json}\r\n"`, part, /more than 32 MiB/],
  ['arrays', `${json}\r\n[1`, ',1'.repeat(30_000), /more than 32 MiB/],
  ['texts that announce a length', `${json}Content-Length: 99999999999\r\n\r\n"`, part, /more than 32 MiB/],
  ['compressed texts', `${json}Content-Encoding: gzip\r\n\r\n`, gzipSync(part), /inflates more|more than 32 MiB/],
  ['streams', events, `data: {"choices":[{"index":0,"delta":{"content":"${part}"}}]}\n\n`, /exceeds the limit|was cut/],
  ['error pages', 'HTTP/1.1 400 Bad Request\r\n\r\n', part, /400 Bad Request/],
])('eight endless %s in a batch take bounded memory', async (name, head, again, message) => {
  const server = createServer((socket) => {
    socket.once('data', () => {
      socket.write(head);
      const pour = (): void => {
        if (!socket.destroyed && socket.write(again)) setImmediate(pour);
      };
      socket.on('drain', pour);
      pour();
    });
  });
  const env = { SVC_BASE_URL: `http://127.0.0.1:${await listening(server)}`, SVC_TOKEN: 'tok-en-1', SVC_RETRIES: '0' };
  const args = ['chat', '-m', 'm', '--batch', '-', '-o', 'out.jsonl'];
  const child = start(args, { cwd: temporaryDirectory(), env });
  child.stdin?.end('{"messages":[{"role":"user","content":"hi"}]}\n'.repeat(8));
  let peak = 0;
  const timer = setInterval(() => {
    peak = Math.max(peak, peakOf(child.pid) ?? 0);
  }, 20);
  const { code, stderr } = await waitForExit(child).finally(() => clearInterval(timer));
  figure(`a batch with eight endless ${name}: ${Math.ceil(peak)} MiB of memory`);
  expect(code, stderr).toBe(10);
  expect(stderr).toMatch(message);
  expect(peak).toBeLessThan(name === 'streams' ? MAX_STREAMS_MIB : MAX_MIB);
});
