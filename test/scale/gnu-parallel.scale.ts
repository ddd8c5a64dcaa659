import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { inShell, serve } from '../support/process.ts';
import { folder } from '../support/svc.ts';

const LINES = 400;
const hasParallel = spawnSync('parallel', ['--version']).status === 0;
if (!hasParallel) process.stderr.write('skipped: GNU parallel is not installed\n');

// The recipe of docs/scale.md, with shards that are killed and started again: nothing lost, nothing twice.
it.skipIf(!hasParallel)('shards by GNU parallel, killed and resumed, are complete', async () => {
  const { env } = await serve();
  const cwd = folder();
  const calls = Array.from({ length: LINES }, (_, at) =>
    JSON.stringify({ start: { project_id: 'a/b', op_name: `op-${at}` } }),
  );
  writeFileSync(join(cwd, 'calls.jsonl'), `${calls.join('\n')}\n`);
  const shard = 'svc call start --batch calls.jsonl --shard {#}/8 -o out-{#}.jsonl --resume';
  const run = (command: string) =>
    inShell(`export -f svc; parallel --will-cite -j4 '${command}' ::: $(seq 8)`, {
      cwd,
      env: { ...env, PARALLEL_SHELL: '/bin/bash' },
    });
  await run(`timeout -s KILL 0.$((RANDOM % 8 + 1)) bash -c "${shard}"`);
  await run(shard);
  const { code } = await inShell('svc batch merge out-*.jsonl --input calls.jsonl -o all.jsonl', { cwd });
  expect(code).toBe(0);
  const results = readFileSync(join(cwd, 'all.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(results.map(({ line }) => line)).toEqual(calls.map((_, at) => at + 1));
  expect(new Set(results.map(({ reply }) => reply.id)).size).toBe(LINES);
});
