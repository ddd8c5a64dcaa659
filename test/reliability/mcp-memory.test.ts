import { once } from 'node:events';
import { expect, it } from 'vitest';
import { figure } from '../support/figure.ts';
import { start, waitForExit } from '../support/process.ts';
import { peakOf } from './peak.ts';

const REQUESTS = 8000;
const POLL_MS = 50;
// After as many polls in which it takes nothing, it has stopped reading.
const IDLE_POLLS = 40;

it('svc mcp stops reading while its reader stalls, and then responds to everything', async () => {
  const child = start(['mcp']);
  const { stdin, stdout } = child;
  if (!stdin || !stdout) throw new Error('svc mcp has no pipes');
  stdout.pause();
  let sent = 0;
  const send = (): void => {
    while (sent < REQUESTS && stdin.write(`{"jsonrpc":"2.0","id":${++sent},"method":"tools/list"}\n`));
  };
  stdin.on('drain', send);
  send();
  for (let idle = 0, last = 0; idle < IDLE_POLLS && sent < REQUESTS; idle += 1, last = sent) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    if (sent !== last || !peakOf(child.pid)) idle = 0;
  }
  const peak = peakOf(child.pid) ?? 0;
  figure(`svc mcp whose reader stalls: ${sent} requests of ${REQUESTS} taken, ${Math.ceil(peak)} MiB of memory`);
  expect(sent).toBeLessThan(REQUESTS / 2);
  expect(peak).toBeLessThan(160);
  let responses = 0;
  stdout.on('data', (chunk: Buffer) => {
    responses += chunk.toString('latin1').split('\n').length - 1;
  });
  const ending = waitForExit(child);
  stdout.resume();
  while (sent < REQUESTS) await once(stdin, 'drain');
  stdin.end();
  expect((await ending).code).toBe(0);
  expect(responses).toBe(REQUESTS);
});
