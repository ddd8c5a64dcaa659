import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runBuilt } from '../support/built.ts';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { start, waitForExit } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

it('--fail-fast sends one line of an input of several chunks, and counts the lines of the rest of a file', async () => {
  const cwd = temporaryDirectory();
  const lineCount = 3000;
  const line = `${JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'x'.repeat(200) }] })}\n`;
  writeFileSync(join(cwd, 'in.jsonl'), line.repeat(lineCount));
  const server = await countingServer(
    () => 'line',
    (_, response) => answerJson(response, { detail: 'no' }, 400),
  );
  const env = { SVC_TOKEN: 'tok-en-1', SVC_BASE_URL: server.url };
  const args = ['chat', '--batch', 'in.jsonl', '-o', 'out.jsonl', '--fail-fast', '--concurrency', '1', '--exact'];
  const { stderr } = await runBuilt(args, { cwd, env });
  expect(stderr).toContain('3000 lines: 0 done, 1 failed, 0 unknown, 2999 not sent');
  expect(server.counts.get('line')).toBe(1);
});

it('a request that was never sent is not in the history', async () => {
  const cwd = temporaryDirectory();
  const server = await countingServer(
    () => 'chat',
    (_, response) => answerJson(response, { detail: 'no' }, 400),
  );
  const env = { SVC_TOKEN: 'tok-en-1', SVC_BASE_URL: server.url, SVC_HISTORY: 'on' };
  const chat = ['chat', 'hi', '-m', 'm', '--exact'];
  const unsent = [
    await runBuilt([...chat, '-o', 'none/x.json'], { cwd, env }),
    await runBuilt(chat, { cwd, env: { ...env, SVC_TOKEN: '', SVC_BASE_URL: 'https://svc.invalid' } }),
  ];
  expect(unsent.map(({ code }) => code)).toEqual([12, 4]);
  expect(server.counts.size).toBe(0);
  expect((await runBuilt(chat, { cwd, env })).code).toBe(5);
  const { stdout } = await runBuilt(['log', '--format', 'jsonl'], { cwd, env });
  expect(
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).exit_code),
  ).toEqual([5]);
});

it('a line that a signal stops between two attempts counts the retries that it had, and is not sent', async () => {
  const cwd = temporaryDirectory();
  writeFileSync(
    join(cwd, 'in.jsonl'),
    `${JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'x' }] })}\n`,
  );
  const server = await countingServer(
    () => 'line',
    (_, response) =>
      answerJson(response, { detail: 'later' }, 429, {
        'Retry-After': `${(server.counts.get('line') ?? 0) < 3 ? 0 : 60}`,
      }),
  );
  const env = { SVC_TOKEN: 'tok-en-1', SVC_BASE_URL: server.url };
  const child = start(['chat', '--batch', 'in.jsonl', '-o', 'out.jsonl', '--exact', '--verbose'], { cwd, env });
  const ended = waitForExit(child);
  child.stdin?.end();
  let isStopped = false;
  child.stderr?.on('data', (chunk) => {
    if (isStopped || !/retrying in (?:[56]\d|60)/.test(String(chunk))) return;
    isStopped = true;
    child.kill('SIGINT');
  });
  const { code, stderr } = await ended;
  expect(code, stderr).toBe(130);
  expect(stderr).toContain('1 line: 0 done, 0 failed, 0 unknown, 1 not sent');
  expect(server.counts.get('line')).toBe(3);
  expect(stderr).toContain('2 retries');
});
