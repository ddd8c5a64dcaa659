import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { figure } from '../support/figure.ts';
import { start, waitForExit } from '../support/process.ts';
import { listening } from '../support/secure-servers.ts';
import { peakOf } from './peak.ts';

const MAX_MIB = 512;
const CHUNK_BYTES = 64 * 1024;

/** A message of the PostgreSQL protocol; `length` is what it announces. */
function message(type: string, body: Buffer, length = body.length + 4): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, body]);
}

const ready = Buffer.concat([message('R', Buffer.alloc(4)), message('Z', Buffer.from('I'))]);
const columns = message('T', Buffer.concat([Buffer.from([0, 1, 97, 0]), Buffer.alloc(18)]));
const largeRow = message('D', Buffer.concat([Buffer.from([0, 1, 0, 0, 0xff, 0]), Buffer.alloc(0xff00, 'x')]));
const HUGE_BYTES = 90 * 1024 * 1024;
const hugeHead = Buffer.from([0, 1, 0, 0, 0, 0]);
hugeHead.writeUInt32BE(HUGE_BYTES - 10, 2);
const hugeRow = message('D', hugeHead, HUGE_BYTES);
const emptyRows = Buffer.concat(Array(8000).fill(message('D', Buffer.from([0, 0]))));

it.each([
  ['one message of 2 GiB', message('D', Buffer.alloc(0), 0x7fff_ffff), Buffer.alloc(CHUNK_BYTES)],
  ['one message of 90 MiB', Buffer.concat([columns, hugeRow]), largeRow],
  ['large rows', columns, largeRow],
  ['empty rows', message('T', Buffer.alloc(2)), emptyRows],
  ['notices', columns, Buffer.concat(Array(4000).fill(message('N', Buffer.from([0]))))],
])('a database server that sends %s without end is disconnected', async (name, head, again) => {
  const server = createServer((socket) => {
    let isStarted = false;
    socket.on('data', () => {
      if (!isStarted) socket.write(ready);
      isStarted = true;
    });
    socket.once('data', () =>
      socket.once('data', () => {
        socket.write(head);
        const pour = (): void => {
          if (!socket.destroyed && socket.write(again)) setImmediate(pour);
        };
        socket.on('drain', pour);
        pour();
      }),
    );
  });
  const port = await listening(server);
  const child = start(['serve', '--data', `postgres://svc@127.0.0.1:${port}/svc`, '--port', '0']);
  let peak = 0;
  const timer = setInterval(() => {
    peak = Math.max(peak, peakOf(child.pid) ?? 0);
  }, 20);
  const { code, stderr } = await waitForExit(child).finally(() => clearInterval(timer));
  figure(`svc serve with a database that sends ${name}: ${Math.ceil(peak)} MiB of memory`);
  expect(code, stderr).toBe(12);
  expect(peak).toBeLessThan(MAX_MIB);
});
