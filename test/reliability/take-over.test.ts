import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { program } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

const reply = { choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }] };

/** Runs svc under the name of another machine; undefined where that is not possible. */
function onMachine(name: string, args: readonly string[], setting: { cwd: string; env: NodeJS.ProcessEnv }) {
  const script = 'hostname "$0" && exec "$@"';
  return spawn('unshare', ['--uts', 'sh', '-c', script, name, process.execPath, program, ...args], setting);
}

// In 65 s of a real clock: a paused process cannot be simulated.
it('a batch whose process is stopped is taken over by another machine, and stops when it continues', async ({
  skip,
}) => {
  const cwd = temporaryDirectory();
  const lines = Array.from({ length: 60 }, (_, at) => ({
    model: 'm',
    messages: [{ role: 'user', content: `p${at}` }],
  }));
  writeFileSync(join(cwd, 'in.jsonl'), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  let isHeld = true;
  const held: (() => void)[] = [];
  const server = await countingServer(
    (body) => JSON.parse(body).messages[0].content,
    (_, response) => {
      const answer = (): void => answerJson(response, reply);
      // The first machine gets 10 responses, and has 4 requests in flight when it is stopped.
      if (!isHeld || server.counts.size <= 10) answer();
      else held.push(answer);
    },
  );
  const env = { ...process.env, HOME: cwd, SVC_TOKEN: 'tok-en-1', SVC_BASE_URL: server.url };
  const args = ['chat', '--batch', 'in.jsonl', '-o', 'out.jsonl', '--concurrency', '4', '--exact'];
  const first = onMachine('one', args, { cwd, env });
  const [firstErrors, firstEnd] = [text(first.stderr), once(first, 'exit')];
  void firstErrors.catch(() => {});
  await Promise.race([firstEnd, expect.poll(() => held.length, { timeout: 60_000 }).toBe(4)]);
  if (first.exitCode !== null) return skip('no other name for this machine can be set here');
  first.kill('SIGSTOP');
  const sentByFirst = new Set(server.counts.keys());
  isHeld = false;

  const refused = onMachine('two', [...args, '--resume'], { cwd, env });
  const refusal = text(refused.stderr);
  expect((await once(refused, 'exit'))[0]).toBe(13);
  expect(await refusal).toContain('add --resume --take-over 2m');

  const second = onMachine('two', [...args, '--resume', '--take-over', '65s'], { cwd, env });
  const secondErrors = text(second.stderr);
  const [secondCode] = await once(second, 'exit');
  // The lines in flight are unknown: a chat costs money, so only --retry-unknown sends them again.
  expect({ secondCode, errors: await secondErrors }).toEqual({
    secondCode: 10,
    errors: expect.stringContaining('56 done, 0 failed, 4 unknown, 0 not sent'),
  });
  for (const answer of held) answer();
  first.kill('SIGCONT');
  const [firstCode] = await firstEnd;
  expect({ firstCode, errors: await firstErrors }).toEqual({
    firstCode: expect.any(Number),
    errors: expect.stringContaining('could not be renewed for 60 s'),
  });
  expect(firstCode).not.toBe(0);

  expect(sentByFirst.size).toBe(14);
  expect([...server.counts.values()].every((count) => count === 1)).toBe(true);
  expect(server.counts.size).toBe(60);
  const results = readFileSync(join(cwd, 'out.jsonl'), 'utf8').trimEnd().split('\n');
  expect(results.map((line) => JSON.parse(line).line)).toEqual(lines.map((_, at) => at + 1));
}, 900_000);
