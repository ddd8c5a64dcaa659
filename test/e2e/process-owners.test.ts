import { spawn, spawnSync } from 'node:child_process';
import { readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { countingServer } from '../support/counting-server.ts';
import { cleanEnv, type Finished, program, run, waitForExit } from '../support/process.ts';
import { noStrace } from '../support/strace.ts';
import { temporaryDirectory } from '../support/svc.ts';

const container = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc'];
const canSplit = spawnSync('unshare', [...container.slice(1), 'true']).status === 0;
if (!canSplit) process.stderr.write('skipped: processes of containers; namespaces cannot be created here\n');

/** Starts a program in a PID namespace of its own. */
function startInContainer(words: readonly string[], cwd: string, env: Readonly<Record<string, string>> = {}) {
  const [command = '', ...args] = [...container, ...words];
  const child = spawn(command, args, { cwd, env: cleanEnv(cwd, env) });
  onTestFinished(() => void child.kill('SIGKILL'));
  child.stdin.end();
  return { child, end: waitForExit(child) };
}

it.skipIf(!canSplit || noStrace() !== undefined)(
  'a call that a container writes to the spool stays for a minute, whatever its process id means here',
  async () => {
    const cwd = temporaryDirectory();
    const slow = ['strace', '-f', '-o', '/dev/null', '-e', 'trace=rename', '-e', 'inject=rename:delay_enter=5000000'];
    const call = ['call', 'run', '--project-id', 'a/b', '--local', '--spool=only', '--', 'true'];
    const spool = join(cwd, 'data/spool');
    const flush = async (): Promise<unknown> =>
      JSON.parse((await run(['call', 'flush', '--local'], { cwd })).stdout).removed;
    const write = async (): Promise<ReturnType<typeof startInContainer> & { readonly file: string }> => {
      const started = startInContainer([...slow, process.execPath, program, ...call], cwd);
      const found = (): string | undefined => {
        try {
          return readdirSync(spool).find((name) => name.endsWith('.tmp'));
        } catch {
          return undefined;
        }
      };
      await expect.poll(found, { timeout: 60_000 }).toMatch(/^\.[0-9a-f]{16}\.json\.\d+\.\d+\.\d+@[0-9a-f-]{36}\.tmp$/);
      return { ...started, file: join(spool, found() ?? '') };
    };
    const killed = await write();
    killed.child.kill('SIGKILL');
    await killed.end;
    expect(await flush()).toBe(0);
    const aMinuteAgo = Date.now() / 1000 - 61;
    utimesSync(killed.file, aMinuteAgo, aMinuteAgo);
    expect(await flush()).toBe(1);
    const living = await write();
    expect(await flush()).toBe(0);
    expect(await living.end).toMatchObject({ code: 0 });
    expect(readdirSync(spool)).toEqual([expect.stringMatching(/^[0-9a-f]{16}\.json$/)]);
  },
);

it.skipIf(!canSplit)('a training job of a killed container is unknown, also where its process id runs', async () => {
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, 'g.jsonl'), '{"trajectories":[{"reward":1},{"reward":0}]}\n');
  const server = await countingServer(
    () => 'job',
    () => {},
  );
  const env = { SVC_TOKEN: 'tok-en-1', SVC_BASE_URL: server.url };
  const train = ['train', 'g.jsonl', '--model-id', '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05'];
  const outcomes = async (): Promise<unknown> => {
    const { stdout } = await run(['train', 'log'], { cwd });
    return JSON.parse(stdout).map(({ pid, outcome }: { pid: number; outcome: string }) => [pid, outcome]);
  };
  const holder = startInContainer([process.execPath, program, ...train], cwd, env);
  await expect.poll(() => server.counts.size, { timeout: 60_000 }).toBe(1);
  // Process 1 of its namespace: this machine and each other container have one, too.
  const inContainer = (): Promise<Finished> => startInContainer([process.execPath, program, ...train], cwd, env).end;
  const isUnknown = { code: 13, stderr: expect.stringMatching(/the same job was sent at .* may have been applied/) };
  expect(await inContainer()).toMatchObject(isUnknown);
  holder.child.kill('SIGKILL');
  await holder.end;
  expect(await outcomes()).toEqual([[1, 'unknown']]);
  expect(await inContainer()).toMatchObject(isUnknown);
  expect(await run(train, { cwd, env })).toMatchObject(isUnknown);
  expect(server.counts.get('job')).toBe(1);
});
