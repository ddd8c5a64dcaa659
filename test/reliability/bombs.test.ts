import { createServer, type Socket } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { start, waitForExit } from '../support/process.ts';
import { callStart } from '../support/svc.ts';
import { peakOf } from './peak.ts';

const MEBIBYTE = 1024 * 1024;
const json = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';
const events = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n';
const chat = ['chat', 'hi', '-m', 'm'];
const chunk = (content: string): string =>
  `data: {"choices":[{"index":0,"delta":{"content":${JSON.stringify(content)}}}]}\n\n`;
const repeatedly = (text: string, bytes: number): Buffer => Buffer.alloc(bytes, text);

interface Bomb {
  readonly name: string;
  readonly args: readonly string[];
  /** Sent at once, and then this again and again for as long as anybody reads. */
  readonly head: string | Buffer;
  readonly again?: string | Buffer;
  readonly code: number;
  readonly says: RegExp;
}

const bombs: readonly Bomb[] = [
  {
    name: 'headers without end',
    args: callStart,
    head: 'HTTP/1.1 200 OK\r\n',
    again: `X-A: ${'a'.repeat(999)}\r\n`,
    code: 8,
    says: /response headers exceed 16 KiB/,
  },
  {
    name: 'answers 103 without end',
    args: callStart,
    head: '',
    again: 'HTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\n',
    code: 8,
    says: /no response came: the server sent 100 interim responses \(1xx\) within 10 s/,
  },
  {
    name: 'unsolicited 100 without end',
    args: chat,
    head: '',
    again: 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(1000),
    code: 8,
    says: /no response came: the server sent 100 interim responses \(1xx\) within 10 s/,
  },
  {
    name: 'empty lines without end where events are expected',
    args: chat,
    head: events,
    again: '\n'.repeat(65_536),
    code: 11,
    says: /more than 64 MiB of whitespace/,
  },
  {
    name: 'a chunk extension without end',
    args: [...callStart, '--timeout', '2s'],
    head: `${json}Transfer-Encoding: chunked\r\n\r\n5;`,
    again: 'x'.repeat(65_536),
    code: 8,
    says: /time limit of 2 s|closed|overflow/i,
  },
  {
    name: 'a text without end',
    args: chat,
    head: `${json}\r\n"`,
    again: 'x'.repeat(65_536),
    code: 11,
    says: /more than 32 MiB/,
  },
  {
    name: 'ones without end',
    args: chat,
    head: `${json}\r\n[1`,
    again: ',1'.repeat(32_768),
    code: 11,
    says: /more than 32 MiB/,
  },
  {
    name: '30 MiB of ones',
    args: chat,
    head: Buffer.concat([
      Buffer.from(`${json}Content-Length: ${30 * MEBIBYTE + 3}\r\n\r\n[1`),
      repeatedly(',1', 30 * MEBIBYTE),
      Buffer.from(']'),
    ]),
    code: 11,
    says: /more than 1500000 values/,
  },
  {
    name: '30 MiB of lists in lists',
    args: chat,
    head: Buffer.concat([
      Buffer.from(`${json}Content-Length: ${30 * MEBIBYTE}\r\n\r\n`),
      repeatedly('[', 30 * MEBIBYTE),
    ]),
    code: 11,
    says: /more than 1500000 values/,
  },
  {
    name: '30 MiB of members',
    args: callStart,
    head: Buffer.concat([
      Buffer.from(`${json}Content-Length: ${30 * MEBIBYTE + 9}\r\n\r\n{"id":"i"`),
      repeatedly(',"aaaaa":11', 30 * MEBIBYTE - ((30 * MEBIBYTE) % 11)),
      Buffer.alloc((30 * MEBIBYTE) % 11, ' '),
      Buffer.from('}'),
    ]),
    code: 11,
    says: /more than 1500000 values/,
  },
  {
    name: '30 MiB of one text',
    args: [...chat, '--json'],
    head: Buffer.concat([
      Buffer.from(
        `${json}Content-Length: ${30 * MEBIBYTE + 72}\r\n\r\n{"choices":[{"index":0,"message":{"role":"assistant","content":"x"}}],"`,
      ),
      repeatedly('x', 30 * MEBIBYTE - 3),
      Buffer.from('":1}'),
    ]),
    code: 0,
    says: /^$/,
  },
  {
    name: '30 MiB of an error under status 200',
    args: chat,
    head: Buffer.concat([
      Buffer.from(`${json}Content-Length: ${30 * MEBIBYTE + 26}\r\n\r\n{"error":{"message":"no`),
      repeatedly('x', 30 * MEBIBYTE),
      Buffer.from('"}}'),
    ]),
    code: 11,
    says: /returned an error under status 200/,
  },
  {
    name: 'a byte at a time',
    args: [...callStart, '--timeout', '2s'],
    head: `${json}\r\n{`,
    again: ' ',
    code: 11,
    says: /time limit of 2 s/,
  },
  {
    name: '1 GiB of nothing, gzipped',
    args: chat,
    head: Buffer.concat([
      Buffer.from(`${json}Content-Encoding: gzip\r\n\r\n`),
      ...Array(64).fill(gzipSync(Buffer.alloc(16 * MEBIBYTE))),
    ]),
    code: 11,
    says: /inflates more than|more than 32 MiB/,
  },
  {
    name: '1 GiB of nothing, brotli',
    args: chat,
    head: Buffer.concat([
      Buffer.from(`${json}Content-Encoding: br\r\n\r\n`),
      brotliCompressSync(Buffer.alloc(256 * MEBIBYTE)),
    ]),
    code: 11,
    says: /inflates more than|more than 32 MiB/,
  },
  {
    name: 'an event without end',
    args: chat,
    head: `${events}data: "`,
    again: 'x'.repeat(65_536),
    code: 11,
    says: /an event of the stream has more than/,
  },
  {
    name: 'lines of an event without end',
    args: chat,
    head: events,
    again: `data: ${'x'.repeat(999)}\n`.repeat(64),
    code: 11,
    says: /an event of the stream has more than/,
  },
  {
    name: 'a stream without end, put together',
    args: [...chat, '--json'],
    head: events,
    again: chunk('x'.repeat(65_536)),
    code: 11,
    says: /the stream exceeds the 8 MiB that svc holds/,
  },
  {
    name: 'single letters without end, put together',
    args: [...chat, '--json'],
    head: events,
    again: chunk('x').repeat(100),
    code: 11,
    says: /the stream exceeds the 8 MiB that svc holds/,
  },
  {
    name: 'choices without end',
    args: [...chat, '--json'],
    head: events,
    again: Array.from({ length: 500 }, () => '{"index":0,"delta":{}}').join(','),
    code: 11,
    says: /an event of the stream is not JSON|more than/,
  },
  {
    name: 'an error page without end',
    args: callStart,
    head: 'HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\n\r\n',
    again: 'x'.repeat(65_536),
    code: 5,
    says: /returned 400 Bad Request: x/,
  },
];

/** A server that responds with a bomb. */
async function bomber({ head, again }: Bomb): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    socket.once('data', () => {
      socket.write(head);
      if (again === undefined) return;
      const pour = (): void => {
        if (socket.destroyed) return;
        if (socket.write(again)) setImmediate(pour);
      };
      socket.on('drain', pour);
      pour();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
}

describe('whatever a server sends', () => {
  it.each(bombs)('$name is ended in bounded memory', async (bomb) => {
    const url = await bomber(bomb);
    const env = {
      SVC_BASE_URL: url,
      SVC_USERNAME: 'api',
      SVC_PASSWORD: 'pass-word-1',
      SVC_TOKEN: 'tok-en-1',
      SVC_RETRIES: '0',
    };
    const child = start(bomb.args, { env });
    child.stdin?.end();
    let peak = 0;
    const timer = setInterval(() => {
      peak = Math.max(peak, peakOf(child.pid) ?? 0);
    }, 5);
    onTestFinished(() => clearInterval(timer));
    const { code, stderr } = await waitForExit(child);
    if (process.env.SVC_FIGURES) process.stdout.write(`${bomb.name}: ${peak.toFixed(0)} MiB\n`);
    expect(code, stderr).toBe(bomb.code);
    expect(stderr).toMatch(bomb.says);
    expect(stderr.length).toBeLessThan(2000);
    expect(peak).toBeLessThan(160);
  });
});
