import { spawn } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { calls, chats, entriesIn, kinds, runKilledBatch, writeInput } from '../e2e/batch.ts';
import { attackCheckpoints } from '../e2e/checkpoint-attacks.ts';
import { runBuilt } from '../support/built.ts';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { cleanEnv, firstLine, program, run, start, waitForExit } from '../support/process.ts';
import { noStrace, withFault } from '../support/strace.ts';
import { credentials, temporaryDirectory } from '../support/svc.ts';

// The same in every run, so that a failure can be reproduced.
function chance(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 0x7fffffff;
    return state / 0x7fffffff;
  };
}

describe('a batch that is killed', () => {
  it.each(Object.entries(kinds))('repeatedly loses nothing and sends nothing twice undeclared: %s', async (_, kind) => {
    // On a busy machine a kill comes some requests late: each run has more lines than that.
    const outcome = await runKilledBatch(kind, 400, 7, chance(7));
    expect(outcome).toMatchObject({ lost: 0, undeclared: 0 });
    expect(outcome.kills).toBeGreaterThan(5);
  });
});

it.skipIf(process.platform !== 'linux')(
  'a batch that is killed is resumed while its parent has not collected it',
  async () => {
    const cwd = temporaryDirectory();
    writeInput(cwd, 3);
    let onSecondLine = (): void => {};
    const secondLine = new Promise<void>((resolve) => {
      onSecondLine = resolve;
    });
    const { url } = await countingServer(chats.keyOf, ({ key, count }, response) => {
      if (key === 'p2' && count === 1) onSecondLine();
      else answerJson(response, chats.reply);
    });
    const env = { ...credentials, SVC_BASE_URL: url };
    const args = ['chat', '--batch', 'in.jsonl', '-o', 'out.jsonl', '--concurrency', '1'];
    // The shell becomes a program that never waits for its children.
    const script = '"$@" & echo $!; exec sleep 600';
    const parent = spawn('sh', ['-c', script, 'sh', process.execPath, program, ...args], {
      cwd,
      env: cleanEnv(cwd, env),
    });
    onTestFinished(() => void parent.kill('SIGKILL'));
    const pid = Number(await firstLine(parent));
    await secondLine;
    process.kill(pid, 'SIGKILL');
    await expect.poll(() => readFileSync(`/proc/${pid}/stat`, 'utf8'), { timeout: 60_000 }).toMatch(/\) Z /);
    const { code, stderr } = await run([...args, '--resume', '--retry-unknown'], { cwd, env });
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('3 lines: 3 done') });
  },
);

it('a batch that is killed and loses its log sends no call with another time, however often it is resumed', async () => {
  const cwd = temporaryDirectory();
  writeInput(cwd, 40, calls);
  let isRejecting = true;
  let kill = (): void => {};
  const { url, counts } = await countingServer(calls.keyOf, ({ key }, response) => {
    const isRejected = isRejecting && /^p[1-3] /.test(key);
    answerJson(response, isRejected ? { detail: 'no' } : calls.reply, isRejected ? 400 : 200);
    if (counts.size >= 20) kill();
  });
  const args = ['call', 'start', '--batch', 'in.jsonl', '-o', 'out.jsonl', '--concurrency', '2', '--resume'];
  const env = { ...credentials, SVC_BASE_URL: url };
  const killedRun = async (): Promise<void> => {
    const child = start(args, { cwd, env });
    kill = () => void child.kill('SIGKILL');
    expect((await waitForExit(child)).signal).toBe('SIGKILL');
  };
  await killedRun();
  rmSync(join(cwd, 'out.jsonl.journal'));
  isRejecting = false;
  // The rejected lines are sent again; the run is killed before it has recorded that the other lines are unknown.
  await killedRun();
  kill = () => {};
  for (const _ of ['second', 'third']) {
    const { code, stderr } = await run(args, { cwd, env });
    expect(code, stderr).toBe(10);
    expect(stderr).toContain('lacks records of earlier runs; lines without a result may have been applied');
  }
  const timesOf = new Map<string, Set<string>>();
  for (const key of counts.keys()) {
    const [name = '', , time = ''] = key.split(' ');
    timesOf.set(name, (timesOf.get(name) ?? new Set()).add(time));
  }
  const sentWithTwoTimes = [...timesOf].filter(([name, times]) => times.size > 1 && !/^p[1-3]$/.test(name));
  expect(sentWithTwoTimes).toEqual([]);
  expect((await runBuilt([...args, '--retry-unknown'], { cwd, env })).code).toBe(0);
  expect(entriesIn(cwd).map(({ exit_code }) => exit_code)).toEqual(Array(40).fill(0));
});

it('a rejected line that was sent again when its run was killed may have been applied', async () => {
  const cwd = temporaryDirectory();
  writeInput(cwd, 3, chats);
  let isRejecting = true;
  let onAgain: (() => void) | undefined;
  const { url, counts } = await countingServer(chats.keyOf, ({ key }, response) => {
    // The outcome of this one stays unknown, so that the log is kept.
    if (isRejecting && key === 'p2') return void response.destroy();
    if (isRejecting) return answerJson(response, { detail: 'no' }, 400);
    if (key === 'p1' && onAgain) return onAgain();
    answerJson(response, chats.reply);
  });
  const args = ['chat', '--batch', 'in.jsonl', '-o', 'out.jsonl', '--concurrency', '1', '--resume'];
  const env = { ...credentials, SVC_BASE_URL: url };
  for (const _ of ['rejected', 'rejected again']) {
    const { code, stderr } = await runBuilt(args, { cwd, env });
    expect({ code, stderr }).toMatchObject({
      code: 10,
      stderr: expect.stringContaining('0 done, 2 failed, 1 unknown'),
    });
  }
  isRejecting = false;
  const child = start(args, { cwd, env });
  onAgain = () => void child.kill('SIGKILL');
  expect((await waitForExit(child)).signal).toBe('SIGKILL');
  onAgain = undefined;
  const resumed = await run(args, { cwd, env });
  expect(resumed).toMatchObject({
    code: 10,
    stderr: expect.stringContaining('lines that may have been applied: 1-2; --resume --retry-unknown sends them again'),
  });
  expect(counts.get('p1')).toBe(3);
  expect(entriesIn(cwd).map(({ exit_code, applied }) => [exit_code, applied])).toEqual([
    [8, 'unknown'],
    [8, 'unknown'],
    [0, 'yes'],
  ]);
  expect(await runBuilt([...args, '--retry-unknown'], { cwd, env })).toMatchObject({ code: 0 });
  expect(counts).toEqual(
    new Map([
      ['p1', 4],
      ['p2', 2],
      ['p3', 3],
    ]),
  );
});

it('checkpoints that are attacked send nothing twice and keep results on their lines', async () => {
  const outcome = await attackCheckpoints(40, chance(11));
  expect(outcome).toMatchObject({ sentTwice: 0, onWrongLine: 0, unexpected: 0 });
  expect(outcome.refused).toBeGreaterThan(10);
});

describe.skipIf(noStrace() !== undefined)('a disk that is full', () => {
  it.each([
    ['write', []],
    ['fdatasync', []],
    ['write', ['--ordered']],
    ['fdatasync', ['--ordered']],
  ])('at the %s of a result ends the batch, and counts add up %j', async (name, more) => {
    const args = ['call', 'start', '--batch', 'in.jsonl', '-o', 'out.jsonl', '--local', '--concurrency', '2', ...more];
    for (const [file, count] of [
      ['out.jsonl', 3],
      ['out.jsonl.journal', 4],
    ] as const) {
      if (name === 'fdatasync' && file === 'out.jsonl') continue;
      const cwd = temporaryDirectory();
      writeInput(cwd, 40, calls);
      const paths = [join(cwd, file)];
      const { status, stderr } = withFault({ name, count, paths }, 'error=ENOSPC', [...args, '--resume'], '', cwd);
      expect(status, stderr).toBe(12);
      expect(stderr).toContain('the disk is full');
      const [, lines, done, failed, unknown, unsent] =
        /(\d+) lines: (\d+) done, (\d+) failed, (\d+) unknown, (\d+) not sent/.exec(stderr) ?? [];
      expect(Number(lines)).toBe(40);
      expect(Number(done) + Number(failed) + Number(unknown) + Number(unsent)).toBe(40);
      expect(entriesIn(cwd).length).toBeGreaterThanOrEqual(Number(done));
      const resumed = await run([...args, '--resume'], { cwd });
      expect(resumed, resumed.stderr).toMatchObject({ code: 0 });
      expect(entriesIn(cwd).map(({ line }) => line)).toEqual(Array.from({ length: 40 }, (_, at) => at + 1));
    }
  });
});
