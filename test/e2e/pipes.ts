import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { expect } from 'vitest';
import { done, event, streamHead } from '../support/event-stream.ts';
import { figure } from '../support/figure.ts';
import { memoryOf } from '../support/memory.ts';
import { start } from '../support/process.ts';
import { rawServer } from '../support/raw-server.ts';

const MEGABYTE = 1_000_000;
const MAX_MEMORY_BYTES = 160 * 1024 * 1024;
const env = { SVC_TOKEN: 'tok-en-1' };

/** Streams megabytes of chunks through a slow reader, and expects every byte and bounded memory. */
export async function expectWholeStream(megabytes: number): Promise<void> {
  const line = (at: number): string =>
    `{"choices":[{"index":0,"delta":{"content":"${String(at).padStart(1000, '.')}"},"finish_reason":null}]}`;
  const last = '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}';
  const count = Math.ceil((megabytes * MEGABYTE) / (line(0).length + 1));
  const wanted = createHash('sha256');
  for (let at = 0; at < count; at++) wanted.update(`${line(at)}\n`);
  wanted.update(`${last}\n`);
  const server = await rawServer(async (socket) => {
    socket.write(streamHead);
    for (let at = 0; at < count; at++) await writeText(socket, event(line(at)));
    socket.end(event(last) + done);
  });
  const args = ['chat', 'x', '--format', 'jsonl', '--no-stdin'];
  const { length, hash, peak } = await slowlyRead(args, server.url);
  figure(`${length} bytes of a stream through a slow pipe: complete, ${Math.ceil(peak / 1024 / 1024)} MiB of memory`);
  expect(hash).toBe(wanted.digest('hex'));
  expect(peak).toBeLessThan(MAX_MEMORY_BYTES);
}

/** The same with a response that is not streamed. */
export async function expectWholeAnswer(megabytes: number): Promise<void> {
  const body = `{"choices":[{"index":0,"message":{"role":"assistant","content":"x"}}],"text":"${'x'.repeat(megabytes * MEGABYTE)}"}`;
  const server = await rawServer((socket) =>
    socket.end(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`),
  );
  const { length, hash, peak } = await slowlyRead(['chat', 'x', '--json', '--no-stdin'], server.url);
  figure(`${length} bytes of an answer through a slow pipe: complete, ${Math.ceil(peak / 1024 / 1024)} MiB of memory`);
  expect(hash).toBe(createHash('sha256').update(`${body}\n`).digest('hex'));
  expect(peak).toBeLessThan(MAX_MEMORY_BYTES);
}

async function writeText(socket: Socket, text: string): Promise<void> {
  if (!socket.write(text)) await once(socket, 'drain');
}

async function slowlyRead(
  args: readonly string[],
  url: string,
): Promise<{ length: number; hash: string; peak: number }> {
  const child = start(args, { env: { ...env, SVC_BASE_URL: url } });
  const ended = once(child, 'close');
  const hash = createHash('sha256');
  let length = 0;
  let peak = 0;
  for await (const piece of child.stdout ?? []) {
    hash.update(piece);
    length += piece.length;
    peak = Math.max(peak, memoryOf(child.pid));
    await new Promise((resolve) => setImmediate(resolve));
  }
  const [code] = await ended;
  expect(code).toBe(0);
  return { length, hash: hash.digest('hex'), peak };
}
