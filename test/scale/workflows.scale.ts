import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { figure } from '../support/figure.ts';
import { inShell, waitForExit } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';
import { expectComplete, prepareWorkplace, recipe, until } from './recipes.ts';

it('the recipe for object stores is complete, with a task that is stopped in the middle', async () => {
  const workplace = await prepareWorkplace(400, 50);
  const { cwd, lines, seen } = workplace;
  const bin = temporaryDirectory();
  // The part of the command that the recipe uses, on a directory: `aws s3 cp` between a pipe and an object.
  const aws = 'from=$3 to=$4\n[ "$to" = - ] && exec cat "${from#s3://}"\nexec cat > "${to#s3://}"';
  writeFileSync(join(bin, 'aws'), `#!/bin/sh\n${aws}\n`, { mode: 0o755 });
  const env = { ...workplace.env, PATH: `${bin}:${workplace.env.PATH}` };
  const prepare = await inShell('mkdir bucket && mv prompts.jsonl bucket', { cwd, env });
  expect(prepare.code).toBe(0);
  const first = spawn('bash', ['-c', recipe('Object stores')], { cwd, env });
  const end = waitForExit(first);
  await until(() => seen() > lines / 3);
  process.kill(workplace.processes().at(-1) ?? 0, 'SIGTERM');
  expect((await end).code).not.toBe(0);
  const seenAtStop = seen();
  expect(seenAtStop).toBeLessThan(lines);
  const { code, stderr } = await waitForExit(spawn('bash', ['-c', recipe('Object stores')], { cwd, env }));
  expect(code, stderr).toBe(0);
  writeFileSync(join(cwd, 'all.jsonl'), readFileSync(join(cwd, 'bucket/all.jsonl')));
  expectComplete(workplace);
  figure(`object stores: ${lines} lines through pipes, stopped after ${seenAtStop}: 0 lost, 0 twice`);
});

it('the step of Airflow and Dagster fails for good, or can be retried, by the exit code', async () => {
  const { cwd, env, lines } = await prepareWorkplace(60, 1);
  let status = 200;
  const server = await countingServer(
    (body) => JSON.parse(body).messages[0].content,
    ({ key }, response) => {
      const choice = { index: 0, message: { role: 'assistant', content: key }, finish_reason: 'stop' };
      if (status === 200) answerJson(response, { choices: [choice] });
      else answerJson(response, { error: { message: 'no' } }, status);
    },
  );
  writeFileSync(join(cwd, 'step.py'), recipe('Airflow and Dagster', 'python'));
  const step = async (shard: number): Promise<string> => {
    const script = `import step\ntry:\n  step.send_shard(${shard}, 2)\n  print('done')\nexcept Exception as error:\n  print(type(error).__name__, error)`;
    const more = { SVC_BASE_URL: server.url, SVC_RETRIES: '0' };
    const child = spawn('python3', ['-c', script], { cwd, env: { ...env, ...more } });
    const { code, stdout, stderr } = await waitForExit(child);
    expect(code, stderr).toBe(0);
    return stdout.trim();
  };
  expect(await step(1)).toBe('done');
  status = 429;
  expect(await step(2)).toMatch(/^RuntimeError svc exited with \d+; a retry continues the shard$/);
  status = 200;
  expect(await step(2)).toBe('done');
  expect(server.counts.size).toBe(lines);
  expect(await step(3)).toBe('PermanentError svc exited with 2');
  figure(`a step: ${lines} lines of two shards, one of them retried`);
});
