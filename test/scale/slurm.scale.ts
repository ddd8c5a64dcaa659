import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { figure } from '../support/figure.ts';
import { freePort } from '../support/free-port.ts';
import { temporaryDirectory } from '../support/svc.ts';
import { expectComplete, mergeShards, prepareWorkplace, recipe, until, type Workplace } from './recipes.ts';
import { noSlurm, slurm, startSlurm } from './slurm-cluster.ts';

const reason = noSlurm();
if (reason) process.stderr.write(`skipped: Slurm; ${reason}\n`);

it.skipIf(reason)('the Slurm recipe is complete, with two tasks requeued in the middle', async () => {
  const workplace = await prepareWorkplace(1600, 200);
  const env = { ...workplace.env, ...(await startSlurm()) };
  const job = submit(recipe('Slurm'), workplace, env);
  await until(() => workplace.seen() > 400);
  for (const task of [3, 6]) slurm(['scontrol', 'requeue', `${job}_${task}`], env);
  const seenAtRequeue = workplace.seen();
  const restarts: number[] = [];
  await until(() => {
    for (const match of slurm(['scontrol', 'show', 'job', job], env).matchAll(/ Restarts=(\d+)/g))
      restarts.push(Number(match[1]));
    return slurm(['squeue', '-h', '-j', job], env).trim() === '';
  });
  expect(seenAtRequeue).toBeLessThan(1600);
  expect(Math.max(...restarts)).toBeGreaterThan(0);
  await mergeShards(workplace);
  expectComplete(workplace);
  figure(`Slurm: 1,600 lines in 8 tasks, two requeued after ${seenAtRequeue} lines: 0 lost, 0 twice`);
});

it.skipIf(reason)('more shards than workers are complete', async () => {
  const workplace = await prepareWorkplace(800, 5);
  const env = { ...workplace.env, ...(await startSlurm()) };
  const job = submit(recipe('Slurm').replace('--array=1-8', '--array=1-200%8'), workplace, env);
  await until(() => slurm(['squeue', '-h', '-j', job], env).trim() === '', 7200);
  expect(workplace.processes()).toHaveLength(200);
  await mergeShards(workplace);
  expectComplete(workplace);
  figure('Slurm: 800 lines in 200 tasks, 8 at a time: 0 lost, 0 twice');
});

it.skipIf(reason)('a server in the same job answers the batch, and ends with the job', async () => {
  const workplace = await prepareWorkplace(100, 0);
  const { cwd } = workplace;
  const port = await freePort();
  const bin = temporaryDirectory();
  // svc is the inference server: `vllm serve MODEL --port 8000`.
  writeFileSync(join(bin, 'vllm'), '#!/bin/sh\nexec svc serve --no-auth --port "$4"\n', { mode: 0o755 });
  const env = { ...workplace.env, PATH: `${bin}:${workplace.env.PATH}`, ...(await startSlurm()) };
  const script = recipe('Slurm: a server in the same job').replace(' --gpus=1', '').replaceAll('8000', String(port));
  const job = submit(script, workplace, env);
  await until(() => slurm(['squeue', '-h', '-j', job], env).trim() === '');
  expect(slurm(['scontrol', 'show', 'job', job], env)).toContain('JobState=COMPLETED');
  const results = readFileSync(join(cwd, 'all.jsonl'), 'utf8').trim().split('\n');
  expect(results.map((line) => JSON.parse(line).exit_code)).toEqual(Array.from({ length: 100 }, () => 0));
  expect(workplace.server.counts.size).toBe(0);
  await expect(fetch(`http://127.0.0.1:${port}`)).rejects.toThrow();
});

// Returns the id of the job.
function submit(script: string, { cwd }: Workplace, env: Readonly<Record<string, string>>): string {
  writeFileSync(join(cwd, 'job.sh'), script, { mode: 0o755 });
  const job = slurm(['sbatch', '--parsable', `--chdir=${cwd}`, join(cwd, 'job.sh')], env).trim();
  expect(job).toMatch(/^\d+$/);
  return job;
}
