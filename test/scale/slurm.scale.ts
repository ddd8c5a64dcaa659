import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { figure } from '../support/figure.ts';
import { expectComplete, mergeShards, prepareWorkplace, recipe, until } from './recipes.ts';
import { noSlurm, slurm, startSlurm } from './slurm-cluster.ts';

const reason = noSlurm();
if (reason) process.stderr.write(`skipped: Slurm; ${reason}\n`);

it.skipIf(reason)('the Slurm recipe is complete, with two tasks requeued in the middle', async () => {
  const workplace = await prepareWorkplace(1600, 200);
  const env = { ...workplace.env, ...(await startSlurm()) };
  writeFileSync(join(workplace.cwd, 'job.sh'), recipe('Slurm'), { mode: 0o755 });
  const submitted = slurm(['sbatch', '--parsable', `--chdir=${workplace.cwd}`, join(workplace.cwd, 'job.sh')], env);
  const job = submitted.trim();
  expect(job).toMatch(/^\d+$/);
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
