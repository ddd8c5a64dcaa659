import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { figure } from '../support/figure.ts';
import { cleanEnv, inShell, program, run, waitForExit } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';
import { until } from './recipes.ts';
import { noSlurm, slurm, startSlurm } from './slurm-cluster.ts';

const SHARDS = 8;
const RESPONSE_MS = 40;
const LIMIT_MS = 7_200_000;

interface Run {
  readonly cwd: string;
  readonly env: Record<string, string>;
}

interface Scheduler {
  readonly name: string;
  /** Why it cannot run here. */
  readonly missing: () => string | undefined;
  /** Starts all shards; resolves when none runs. */
  readonly start: (run: Run) => Promise<() => Promise<void>>;
}

const SHARD_COMMAND =
  "svc chat --batch prompts.jsonl --shard auto/8 -o 'out-{shard}.jsonl' --resume --concurrency 4 --retries 0 -q";

const schedulers: readonly Scheduler[] = [
  {
    name: 'GNU parallel',
    missing: () => (spawnExists('parallel') ? undefined : 'parallel is not installed'),
    start: async ({ cwd, env }) => {
      const child: ChildProcess = spawn('bash', ['-c', `parallel -j8 "${SHARD_COMMAND}" '#' {} ::: 1 2 3 4 5 6 7 8`], {
        cwd,
        env,
        stdio: 'ignore',
      });
      const end = waitForExit(child);
      return async () => void (await end);
    },
  },
  {
    name: 'Slurm',
    missing: noSlurm,
    start: async ({ cwd, env }) => {
      writeFileSync(join(cwd, 'job.sh'), `#!/bin/bash\n#SBATCH --array=1-8\nexec ${SHARD_COMMAND}\n`, { mode: 0o755 });
      const job = slurm(['sbatch', '--parsable', '-o', '/dev/null', `--chdir=${cwd}`, join(cwd, 'job.sh')], env).trim();
      return () => until(() => slurm(['squeue', '-h', '-j', job], env).trim() === '', 36_000);
    },
  },
];

function spawnExists(name: string): boolean {
  return (process.env.PATH ?? '').split(':').some((directory) => existsSync(join(directory, name)));
}

/** Kills shards with `kill -9` at random moments, and runs them again, until so many were killed; then runs them to their end. */
export function shardKills({ lines, kills }: { readonly lines: number; readonly kills: number }): void {
  for (const { name, missing, start } of schedulers) {
    const reason = missing();
    if (reason) process.stderr.write(`skipped: kills under ${name}; ${reason}\n`);
    it.skipIf(reason)(
      `${kills} kills of shards of ${lines} lines under ${name} lose nothing`,
      async () => {
        const { cwd, url, counts } = await prepareShards(lines);
        const bin = temporaryDirectory();
        writeFileSync(
          join(bin, 'svc'),
          `#!/bin/sh\necho $$ > "${bin}/pid.$$"\nexec "${process.execPath}" "${program}" "$@"\n`,
          { mode: 0o755 },
        );
        const cluster = name === 'Slurm' ? await startSlurm() : {};
        const env = cleanEnv(cwd, {
          PATH: `${bin}:${process.env.PATH}`,
          SVC_BASE_URL: url,
          SVC_TOKEN: 'x',
          ...cluster,
        });
        expect((await inShell('svc batch index prompts.jsonl', { cwd, env })).code).toBe(0);
        let killed = 0;
        let seenAtLastKill = 0;
        const pidsOf = (): number[] =>
          readdirSync(bin).flatMap((file) => (file.startsWith('pid.') ? [Number(file.slice(4))] : []));
        while (killed < kills && counts.size < lines * 0.9) {
          const wait = await start({ cwd, env });
          let isEnded = false;
          const end = wait().then(() => {
            isEnded = true;
          });
          const ended = new Set<number>();
          // Each shard once, before it sends a line or in the middle of its part.
          while (!isEnded && ended.size < SHARDS && killed < kills) {
            await new Promise((resolve) => setTimeout(resolve, Math.random() * 500));
            const others = pidsOf().filter((pid) => !ended.has(pid));
            const pid = others[Math.floor(Math.random() * others.length)];
            if (pid === undefined) continue;
            if (killIfRunning(pid)) killed += 1;
            ended.add(pid);
            rmSync(join(bin, `pid.${pid}`), { force: true });
            seenAtLastKill = counts.size;
          }
          await end;
          for (const pid of pidsOf()) rmSync(join(bin, `pid.${pid}`), { force: true });
        }
        await (await start({ cwd, env }))();
        const { outputs, text } = await judgeShards({ cwd, env }, lines, counts);
        figure(
          `${name}: ${lines} lines in 8 shards, ${killed} killed, the last after ${seenAtLastKill} lines: ${text}`,
        );
        await expectNamed({ cwd, env }, outputs);
      },
      LIMIT_MS,
    );
  }
}

const containers = ['--user', '--map-root-user', '--mount', '--pid', '--fork', '--mount-proc', '--kill-child'];
const canSplit = spawnSync('unshare', [...containers, 'true']).status === 0;
if (!canSplit) process.stderr.write('skipped: shards that are stopped; namespaces cannot be created here\n');

/** Stops some of 8 shards, each in a container of its own, for longer than their leases; other containers resume them meanwhile. */
export function shardStops({ lines, stopped }: { readonly lines: number; readonly stopped: readonly number[] }): void {
  it.skipIf(!canSplit)(
    `shards ${stopped} of ${lines} lines that are stopped and resumed elsewhere lose nothing`,
    async () => {
      const { cwd, url, counts } = await prepareShards(lines);
      const env = cleanEnv(cwd, { SVC_BASE_URL: url, SVC_TOKEN: 'x' });
      expect((await run(['batch', 'index', 'prompts.jsonl'], { cwd, env })).code).toBe(0);
      const start = (shard: number) => {
        const words = ['chat', '--batch', 'prompts.jsonl', '--shard', `${shard}/8`, '-o', `out-${shard}-of-8.jsonl`];
        const args = [process.execPath, program, ...words, '--resume', '--concurrency', '4', '--retries', '0'];
        const child = spawn('unshare', [...containers, ...args], { cwd, env });
        onTestFinished(() => void child.kill('SIGKILL'));
        return { child, end: waitForExit(child) };
      };
      const shards = Array.from({ length: SHARDS }, (_, at) => start(at + 1));
      await until(() => counts.size > lines * 0.3, 600);
      const holders = stopped.flatMap((shard) => shards[shard - 1] ?? []);
      for (const { child } of holders) process.kill(processIn(child), 'SIGSTOP');
      const others = shards.filter((shard) => !holders.includes(shard));
      expect(await Promise.all(others.map(({ end }) => end.then(({ code }) => code)))).toEqual(others.map(() => 0));
      const takers = await Promise.all(stopped.map((shard) => start(shard).end));
      for (const { code, stderr } of takers)
        expect({ code, stderr }).toEqual({
          code: 10,
          stderr: expect.stringMatching(/waiting 65 s.*lines that may have been applied: \d/s),
        });
      const requests = (): number => [...counts.values()].reduce((sum, count) => sum + count, 0);
      const before = requests();
      for (const { child } of holders) process.kill(processIn(child), 'SIGCONT');
      for (const { end } of holders)
        expect(await end).toMatchObject({ code: 13, stderr: expect.stringContaining('could not be renewed for 60 s') });
      expect(requests()).toBe(before);
      const { outputs, text } = await judgeShards({ cwd, env }, lines, counts);
      figure(`${lines} lines in 8 shards, ${stopped.length} stopped and resumed elsewhere: ${text}`);
      await expectNamed({ cwd, env }, outputs);
    },
    LIMIT_MS,
  );
}

// A signal to `unshare` does not reach its child.
function processIn({ pid }: ChildProcess): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim());
}

/** An input whose lines are `prompt-1`, `prompt-2` and so on, and a server that counts them. */
async function prepareShards(lines: number) {
  const cwd = temporaryDirectory();
  const { url, counts } = await countingServer(
    (body) => JSON.parse(body).messages[0].content,
    ({ key }, response) =>
      void setTimeout(() => {
        const choice = { index: 0, message: { role: 'assistant', content: key }, finish_reason: 'stop' };
        answerJson(response, { id: key, choices: [choice] });
      }, RESPONSE_MS),
  );
  const prompt = (at: number): string =>
    `${JSON.stringify({ model: 'm', messages: [{ role: 'user', content: `prompt-${at + 1}` }] })}\n`;
  writeFileSync(join(cwd, 'prompts.jsonl'), Array.from({ length: lines }, (_, at) => prompt(at)).join(''));
  return { cwd, url, counts };
}

// Each line was sent once, and has its own result or is reported as unknown.
async function judgeShards({ cwd, env }: Run, lines: number, counts: ReadonlyMap<string, number>) {
  const outputs = readdirSync(cwd).filter((file) => /^out-\d-of-8\.jsonl$/.test(file));
  const merged = await run(['batch', 'merge', ...outputs, '--input', 'prompts.jsonl', '-o', 'all.jsonl'], { cwd, env });
  const results = readFileSync(join(cwd, 'all.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const withResult = new Set(results.map(({ line }) => line));
  const wrong = results.filter(({ line, response }) => response?.id !== undefined && response.id !== `prompt-${line}`);
  const status = JSON.parse((await run(['batch', 'status', '.', '--json'], { cwd, env })).stdout);
  const unknown = status.reduce((sum: number, row: { unknown: number }) => sum + row.unknown, 0);
  const twice = [...counts].filter(([, count]) => count > 1);
  const lost = Array.from({ length: lines }, (_, at) => at + 1).filter(
    (line) => !withResult.has(line) && !counts.has(`prompt-${line}`),
  );
  expect({ lost, twice, wrong }).toEqual({ lost: [], twice: [], wrong: [] });
  expect(withResult.size + unknown, merged.stderr).toBeGreaterThanOrEqual(lines);
  return { outputs, text: `0 lost, 0 sent twice, 0 on a wrong line, ${unknown} unknown` };
}

function killIfRunning(pid: number): boolean {
  try {
    process.kill(pid, 'SIGKILL');
    return true;
  } catch {
    return false;
  }
}

// A shard that is missing, and a line that changed, are named.
async function expectNamed({ cwd, env }: Run, outputs: readonly string[]): Promise<void> {
  const others = outputs.filter((output) => output !== 'out-3-of-8.jsonl').join(' ');
  const incomplete = await inShell(`svc batch merge ${others} --input prompts.jsonl -o x.jsonl`, { cwd, env });
  expect(incomplete.code).toBe(10);
  const third = JSON.parse(readFileSync(join(cwd, 'out-3-of-8.jsonl.journal'), 'utf8').split('\n')[0] ?? '').part;
  expect(incomplete.stderr).toContain(`${third.line}-`);
  const input = readFileSync(join(cwd, 'prompts.jsonl'), 'utf8').split('\n');
  const changed = third.line + 5;
  input[changed - 1] = input[changed - 1]?.replace('prompt', 'tpromp') ?? '';
  writeFileSync(join(cwd, 'prompts.jsonl'), input.join('\n'));
  const resumed = await inShell(SHARD_COMMAND, { cwd, env: { ...env, PARALLEL_SEQ: '3' } });
  expect(resumed).toMatchObject({ code: 13, stderr: expect.stringContaining(`changed lines: ${changed}`) });
  const compared = await inShell(`svc batch merge ${outputs.join(' ')} --input prompts.jsonl -o x.jsonl`, { cwd, env });
  expect(compared).toMatchObject({ code: 13, stderr: expect.stringContaining(`changed lines: ${changed}`) });
}
