import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { calls, chats, type Kind } from '../e2e/batch.ts';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { run, serve, waitForExit } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

const inputs = `{"a":"${'x'.repeat(100_000)}"}`;
const call = `{"start":{"project_id":"a/b","op_name":"x","started_at":"2026-01-01T00:00:00Z","attributes":{},"inputs":${inputs}}}`;
const job = `{"model_id":"0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05","trajectory_groups":[{"trajectories":[{"reward":1,"logs":[${inputs}]}]}]}`;

/** A directory on a file system of `size`, unmounted with the test; undefined where none can be mounted. */
function smallDisk(size = '300k'): string | undefined {
  const path = join(temporaryDirectory(), 'disk');
  mkdirSync(path);
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', path]).status !== 0) return undefined;
  onTestFinished(() => void spawnSync('umount', ['-l', path]));
  return path;
}

function fill(disk: string): void {
  for (const chunkBytes of [4096, 1]) {
    try {
      for (let at = 0; ; at++) writeFileSync(join(disk, `fill-${chunkBytes}-${at}`), Buffer.alloc(chunkBytes));
    } catch {}
  }
}

describe('a full disk', () => {
  it('leaves a valid recording of --record, with a warning at once and exit 12 at the end', async ({ skip }) => {
    const disk = smallDisk();
    if (!disk) return skip('no tmpfs can be mounted here');
    const har = join(disk, 'r.har');
    const { url, child } = await serve(['--no-auth', '--record', har]);
    const output = waitForExit(child);
    const warned = new Promise<void>((resolve) => {
      child.stderr?.on('data', (text) => String(text).includes('the recording is incomplete') && resolve());
    });
    const send = async (): Promise<number> => {
      const headers = { 'Content-Type': 'application/json' };
      return (await fetch(`${url}/call/start`, { method: 'POST', headers, body: call })).status;
    };
    for (let at = 0; at < 5; at++) expect(await send()).toBe(200);
    await warned;
    child.kill('SIGTERM');
    expect(await output).toMatchObject({ code: 12, stderr: expect.stringContaining('the disk is full') });
    const { entries } = JSON.parse(readFileSync(har, 'utf8')).log;
    expect(entries.length).toBeGreaterThan(0);
    expect(entries.length).toBeLessThan(5);
  });

  it('is exit 12 of --local and 507 of svc serve, and loses nothing that is stored', async ({ skip }) => {
    const disk = smallDisk();
    if (!disk) return skip('no tmpfs can be mounted here');
    const env = { SVC_DATA_DIR: join(disk, 'data') };
    const args = ['call', 'start', '--local', '--project-id', 'a/b', '--op-name', 'x'];
    expect((await run(args, { env })).code).toBe(0);
    const { url } = await serve(['--no-auth'], { env });
    fill(disk);
    const local = await run(['call', 'start', '--local', '-f', '-'], { env, stdin: call });
    expect(local).toMatchObject({ code: 12, stdout: '', stderr: expect.stringContaining('the disk is full') });
    for (const [path, body] of [
      ['/call/start', call],
      ['/v1/preview/training-jobs', job],
    ] as const) {
      const headers = { 'Content-Type': 'application/json' };
      const response = await fetch(`${url}${path}`, { method: 'POST', headers, body });
      expect([response.status, await response.text()]).toEqual([507, expect.stringContaining('full')]);
    }
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
  });

  it('leaves a conversation unchanged, and no lock', async ({ skip }) => {
    const disk = smallDisk('40k');
    if (!disk) return skip('no tmpfs can be mounted here');
    const talk = join(disk, 'talk.json');
    writeFileSync(talk, '[]');
    fill(disk);
    const { code, stderr } = await run(['chat', 'x', '--no-stdin', '--local', '--conversation', talk]);
    expect({ code, stderr }).toEqual({ code: 12, stderr: `svc: cannot lock ${talk}: the disk is full\n` });
    expect(readdirSync(disk).filter((name) => name.startsWith('talk'))).toEqual(['talk.json']);
    expect(readFileSync(talk, 'utf8')).toBe('[]');
  });

  it.for<[string, 'out' | 'out.journal', Kind, string[]]>([
    ['the results', 'out', chats, []],
    ['the results', 'out', chats, ['--ordered']],
    ['the results', 'out', calls, []],
    ['the log', 'out.journal', chats, []],
    ['the log', 'out.journal', chats, ['--ordered']],
    ['the log', 'out.journal', calls, []],
  ])('for %s ends a batch, which counts what it sent and what it lost', async ([, full, kind, flags], { skip }) => {
    const disk = smallDisk(full === 'out' ? '40k' : '8k');
    if (!disk) return skip('no tmpfs can be mounted here');
    const cwd = temporaryDirectory();
    const lines = Array.from({ length: 400 }, (_, at) => `${JSON.stringify(kind.line(at + 1))}\n`);
    writeFileSync(join(cwd, 'in.jsonl'), lines.join(''));
    const [output, log] =
      full === 'out' ? [join(disk, 'out'), join(cwd, 'log')] : [join(cwd, 'out'), join(disk, 'log')];
    symlinkSync(log, `${output}.journal`);
    const { url, counts } = await countingServer(kind.keyOf, (_, response) => answerJson(response, kind.reply));
    const sentRequests = (): number => [...counts.values()].reduce((sum, count) => sum + count, 0);
    const args = [...kind.command, '--batch', 'in.jsonl', '-o', output, '--concurrency', '8', '--resume', ...flags];
    const env = { SVC_TOKEN: 'tok-en-1', SVC_USERNAME: 'api', SVC_PASSWORD: 'pass-word-1', SVC_BASE_URL: url };
    const { code, stderr } = await run(args, { cwd, env });
    const [, ...found] =
      /(\d+) done, 0 failed, (\d+) unknown, (\d+) not sent.* (\d+) lines? w\w+ sent, and (\d+) results? w\w+ lost/s.exec(
        stderr,
      ) ?? [];
    const [done = 0, unknown = 0, unsent = 0, sent, lost] = found.map(Number);
    const stored = readFileSync(output, 'utf8').split('\n').length - 1;
    expect({ code, done, sent, lost, total: done + unknown + unsent }, stderr).toEqual({
      code: 12,
      done: stored,
      sent: sentRequests(),
      lost: sentRequests() - stored,
      total: 400,
    });
    expect(unsent).toBeGreaterThan(0);
    expect(stderr).toContain('\n  fix the cause, then continue with --resume\n');
    expect(spawnSync('mount', ['-o', 'remount,size=4m', disk]).status).toBe(0);
    const resumed = await run(args, { cwd, env });
    const isResent = kind.isHarmless || lost === 0;
    expect(resumed.stderr).toContain(isResent ? '400 lines: 400 done' : `${lost} unknown, 0 not sent`);
    expect(counts.size).toBe(400);
    if (!kind.isHarmless) expect(sentRequests()).toBe(400);
  });
});
