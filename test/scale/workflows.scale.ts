import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { figure } from '../support/figure.ts';
import { waitForExit } from '../support/process.ts';
import { prepareWorkplace, recipe, until } from './recipes.ts';

it('the recipe for object stores is complete, with tasks that are stopped in the middle', async () => {
  const workplace = await prepareWorkplace(400, 50);
  const { cwd, lines, server } = workplace;
  const objects = await openObjectStore(readFileSync(join(cwd, 'prompts.jsonl')));
  const [tasks, results] = [4, [] as string[]];
  for (let shard = 1; shard <= tasks; shard += 1) {
    const task = join(cwd, `task-${shard}`);
    mkdirSync(task);
    const urls = { INPUT: `${objects.url}/input`, OUTPUT: `${objects.url}/${shard}` };
    const env = { ...workplace.env, ...urls, SIZE: `${objects.size}`, SHARD: `${shard}`, SHARDS: `${tasks}` };
    const seenBefore = workplace.seen();
    const first = waitForExit(spawn('bash', ['-c', recipe('Object stores')], { cwd: task, env }));
    await until(() => workplace.seen() > seenBefore + lines / tasks / 3);
    process.kill(workplace.processes().at(-1) ?? 0, 'SIGTERM');
    expect((await first).code).not.toBe(0);
    expect(objects.stored.has(`/${shard}`)).toBe(false);
    const { code, stderr } = await waitForExit(spawn('bash', ['-c', recipe('Object stores')], { cwd: task, env }));
    expect(code, stderr).toBe(0);
    results.push(...(objects.stored.get(`/${shard}`) ?? '').trim().split('\n'));
  }
  expect(results.map((line) => JSON.parse(line).response.id)).toEqual(
    Array.from({ length: lines }, (_, at) => `prompt-${at + 1}`),
  );
  expect([...server.counts.values()].every((count) => count === 1)).toBe(true);
  figure(`object stores: ${lines} lines by range in ${tasks} tasks, each stopped: 0 lost, 0 twice`);
});

// A store of one object, which is read by range, and of what is put there.
async function openObjectStore(input: Buffer) {
  const stored = new Map<string, string>();
  const server = createServer((request, response) => {
    if (request.method === 'PUT') {
      const chunks: Buffer[] = [];
      request.on('data', (chunk) => chunks.push(chunk));
      request.on('end', () => {
        stored.set(request.url ?? '', Buffer.concat(chunks).toString());
        response.end();
      });
      return;
    }
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
    response.writeHead(206).end(input.subarray(Number(first), Number(last) + 1));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return { url: `http://127.0.0.1:${port}`, size: input.length, stored };
}

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
