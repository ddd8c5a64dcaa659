import { createHash } from 'node:crypto';
import { truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { figure } from '../support/figure.ts';
import { run, start, waitForExit } from '../support/process.ts';
import { listening } from '../support/secure-servers.ts';
import { temporaryDirectory } from '../support/svc.ts';
import { peakOf } from './peak.ts';

const MEBIBYTE = 1024 * 1024;
const FILE_MIB = 64;
const PNG = '\x89PNG\r\n\x1a\n';
const completion =
  '{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}';

const line = 'A line of "text" with Grüße and 日本語.\n';
const text = Buffer.alloc(FILE_MIB * MEBIBYTE - ((FILE_MIB * MEBIBYTE) % Buffer.byteLength(line)), line);
const image = Buffer.alloc(FILE_MIB * MEBIBYTE, 'pixels');
image.write(PNG, 'latin1');

it.each([
  ['an image', image, { type: 'image_url', image_url: { url: `data:image/png;base64,${image.toString('base64')}` } }],
  ['a text', text, { type: 'text', text: `file:\n\n${text}` }],
])('--attach of %s takes at most three times its size, and 100 MiB', async (name, bytes, part) => {
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, 'file'), bytes);
  const received = createHash('sha256');
  let peak = 0;
  const server = createServer((request, response) => {
    request.on('data', (chunk) => received.update(chunk));
    request.on('end', () => {
      peak = peakOf(child.pid) ?? 0;
      response.setHeader('Content-Type', 'application/json').end(completion);
    });
  });
  const env = { SVC_BASE_URL: `http://127.0.0.1:${await listening(server)}`, SVC_TOKEN: 'tok-en-1' };
  const child = start(['chat', 'hi', '-m', 'm', '--attach', 'file'], { cwd, env });
  child.stdin?.end();
  const { code, stderr } = await waitForExit(child);
  expect(code, stderr).toBe(0);
  const messages = [{ role: 'user', content: [{ type: 'text', text: 'hi' }, part] }];
  const expected = createHash('sha256').update(JSON.stringify({ messages, model: 'm' }));
  expect(received.digest('hex')).toBe(expected.digest('hex'));
  figure(`--attach of ${name} of ${FILE_MIB} MiB: ${Math.ceil(peak)} MiB of memory`);
  expect(peak).toBeGreaterThan(FILE_MIB);
  expect(peak).toBeLessThan(3 * FILE_MIB + 100);
});

it.each([
  ['one file', 129, ['file'], 'svc: cannot read file: it has more than 128 MiB, the limit for this input\n'],
  ['several files', 65, ['file', 'file'], 'svc: --attach: the files have more than 128 MiB in all\n'],
])('--attach of more than 128 MiB in %s is rejected', async (_, mebibytes, files, message) => {
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, 'file'), PNG, 'latin1');
  truncateSync(join(cwd, 'file'), mebibytes * MEBIBYTE);
  const flags = files.flatMap((file) => ['--attach', file]);
  const { code, stderr } = await run(['chat', 'hi', '--local', ...flags], { cwd });
  expect({ code, stderr }).toMatchObject({ code: 12, stderr: expect.stringContaining(message) });
});
