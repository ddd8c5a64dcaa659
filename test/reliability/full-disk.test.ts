import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { calls, chats, type Kind } from '../e2e/batch.ts';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { inShell, run, serve, waitForExit } from '../support/process.ts';
import { httpAnswer, rawServer } from '../support/raw-server.ts';
import { temporaryDirectory } from '../support/svc.ts';

const inputs = `{"a":"${'x'.repeat(100_000)}"}`;
const call = `{"start":{"project_id":"a/b","op_name":"x","started_at":"2026-01-01T00:00:00Z","attributes":{},"inputs":${inputs}}}`;
const job = `{"model_id":"0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05","trajectory_groups":[{"trajectories":[{"reward":1,"logs":[${inputs}]}]}]}`;

/** A directory on a file system of `size`, unmounted with the test; undefined where none can be mounted. */
function smallDisk(size = '300k', options = ''): string | undefined {
  const path = join(temporaryDirectory(), 'disk');
  mkdirSync(path);
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}${options}`, 'tmpfs', path]).status !== 0) return undefined;
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
    expect({ code, stderr }).toEqual({
      code: 12,
      stderr: `svc: cannot lock ${talk}: the disk is full\n  free some space, or choose a file on another disk\n`,
    });
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

describe('a disk that has no room for another file while a batch runs', () => {
  it.for<[string, boolean, boolean]>([
    ['and the lock stays', false, false],
    ['and the lock was removed', true, false],
    ['and the lock was removed, until there is room again', true, true],
  ])('leaves the results and no lock (%s)', async ([, isRemoved, isFreed], { skip }) => {
    const disk = smallDisk('4m', ',nr_inodes=20');
    if (!disk) return skip('no tmpfs can be mounted here');
    const output = join(disk, 'out');
    const names: string[] = [];
    const use = (): void => {
      try {
        for (;;) {
          const name = join(disk, `file-${names.length}`);
          writeFileSync(name, '');
          names.push(name);
        }
      } catch {}
    };
    const { url, counts } = await countingServer(chats.keyOf, (_, response) => {
      if (counts.size === 4) {
        if (isRemoved) rmSync(`${output}.lock`);
        use();
      }
      if (counts.size === 8 && isFreed) for (const name of names.splice(0)) rmSync(name);
      answerJson(response, chats.reply);
    });
    const cwd = temporaryDirectory();
    const lines = Array.from({ length: 20 }, (_, at) => `${JSON.stringify(chats.line(at + 1))}\n`);
    writeFileSync(join(cwd, 'in.jsonl'), lines.join(''));
    const env = { SVC_TOKEN: 'tok-en-1', SVC_BASE_URL: url };
    const args = [...chats.command, '--batch', 'in.jsonl', '-o', output, '--concurrency', '1'];
    const { code, stderr } = await run(args, { cwd, env });
    expect(code, stderr).toBe(0);
    expect(stderr).toContain('20 lines: 20 done');
    expect(stderr.includes('out.lock was removed while the batch runs; it is restored')).toBe(isFreed);
    expect(names.length > 0).toBe(!isFreed);
    expect(readdirSync(disk).filter((name) => !name.startsWith('file-'))).toEqual(['out', 'out.journal']);
  });
});

describe('a result that -o cannot write to a full disk', () => {
  const text = Array.from({ length: 2000 }, (_, at) => `word ${at} `).join('');
  const completion = (content: string): string =>
    JSON.stringify({ id: 'c1', model: 'm', choices: [{ index: 0, message: { content }, finish_reason: 'stop' }] });
  const chunkOf = (content: string): string =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`;
  const stream = (): string => {
    const last = `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\n`;
    return `${(text.match(/.{1,500}/gs) ?? []).map(chunkOf).join('')}${last}data: [DONE]\n\n`;
  };
  const whole = `${completion(text)}\n`;
  const cut = `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 99999\r\n\r\n${chunkOf(text)}`;
  const credentials = { SVC_TOKEN: 'tok-en-1', SVC_USERNAME: 'api', SVC_PASSWORD: 'pass-word-1' };

  /** A full disk, apart from a number of pages of 4 KiB. */
  function fullDisk(freePages: number): string | undefined {
    const disk = smallDisk('64k');
    if (disk) fill(disk);
    for (let page = 0; disk && page < freePages; page++) rmSync(join(disk, `fill-4096-${page}`));
    return disk;
  }

  /** Runs a chat with `-o o.json` on a disk. */
  async function chatOnFullDisk(disk: string, response: string, flags: string, redirection = '') {
    const { url } = await rawServer((socket) => void socket.end(response));
    const cwd = temporaryDirectory();
    const line = `svc chat hi --no-stdin --retries 0 ${flags} -o ${disk}/o.json ${redirection}`;
    const finished = await inShell(line, { cwd, env: { ...credentials, SVC_BASE_URL: url } });
    return { ...finished, cwd, files: readdirSync(disk).filter((name) => !name.startsWith('fill')) };
  }

  it.for<[string, string, string, string]>([
    ['a response', whole, httpAnswer(completion(text)), '--json'],
    ['the text of a response', `${text}\n`, httpAnswer(completion(text)), '--format text'],
    [
      'the results of --jq and the whole response',
      `c1\n${whole}`,
      httpAnswer(completion(text)),
      `--jq '.id, error("x")'`,
    ],
    [
      'a stream',
      `${text}\n`,
      httpAnswer(stream(), '200 OK', 'Content-Type: text/event-stream\r\n'),
      '--stream --format text',
    ],
  ])('goes to stdout whole: %s', async ([, expected, response, flags], { skip }) => {
    for (const freePages of [0, 2]) {
      const disk = fullDisk(freePages);
      if (!disk) return skip('no tmpfs can be mounted here');
      const { code, stdout, stderr, files } = await chatOnFullDisk(disk, response, flags);
      expect(stdout).toBe(expected);
      expect(files).toEqual([]);
      expect(stderr).toContain('the output is on stdout\n');
      if (flags.startsWith('--jq')) expect(code).toBe(11);
      else
        expect({ code, stderr }).toMatchObject({
          code: 12,
          stderr: expect.stringContaining('the request was applied'),
        });
      expect(stderr).toContain(`cannot write ${disk}/o.json: the disk is full`);
    }
  });

  it('goes to stdout, also if the response was cut', async ({ skip }) => {
    const disk = fullDisk(0);
    if (!disk) return skip('no tmpfs can be mounted here');
    const { code, stdout, stderr, files } = await chatOnFullDisk(disk, cut, '--stream --format text');
    expect({ code, stdout, files }).toEqual({ code: 11, stdout: `${text}\n`, files: [] });
    expect(stderr).toContain(`svc: cannot write ${disk}/o.json: the disk is full; the output is on stdout\n`);
  });

  it('leaves the old file, and goes to a file on another disk', async ({ skip }) => {
    const disk = fullDisk(0);
    if (!disk) return skip('no tmpfs can be mounted here');
    writeFileSync(join(disk, 'o.json'), '');
    const { code, stderr, cwd, files } = await chatOnFullDisk(disk, httpAnswer(completion(text)), '--json', '> out');
    expect({ code, files }, stderr).toEqual({ code: 12, files: ['o.json'] });
    expect(stderr).toContain('the output is on stdout\n');
    expect(readFileSync(join(cwd, 'out'), 'utf8')).toBe(whole);
    expect(readFileSync(join(disk, 'o.json'), 'utf8')).toBe('');
  });

  it.for<[string, string, number, string]>([
    ['a file on the same disk', '> DISK/out', 0, 'the output was not stored anywhere'],
    ['a file on the same disk with some space', '> DISK/out', 2, 'the partial output is in DISK/o.json.partial'],
    ['closed', '>&-', 0, 'the output was not stored anywhere'],
    ['/dev/null', '> /dev/null', 0, 'the output was not stored anywhere'],
    ['/dev/full', '> /dev/full', 0, 'the output was not stored anywhere'],
    ['a pipe that its reader closed', '| true; exit "${PIPESTATUS[0]}"', 0, 'the output was not stored anywhere'],
  ])('is reported as lost, or as partial, if stdout is %s', async ([, redirection, freePages, location], { skip }) => {
    for (const response of [httpAnswer(completion(text)), cut]) {
      const disk = fullDisk(freePages);
      if (!disk) return skip('no tmpfs can be mounted here');
      const here = (line: string): string => line.replace('DISK', disk);
      const { code, stdout, stderr, files } = await chatOnFullDisk(disk, response, '--json', here(redirection));
      expect({ code, stdout }, stderr).toEqual({ code: response === cut ? 11 : 12, stdout: '' });
      expect(stderr).toContain(`cannot write ${disk}/o.json: the disk is full`);
      expect(stderr).toContain(`${here(location)}\n`);
      expect(files.filter((name) => name !== 'out')).toEqual(freePages === 0 ? [] : ['o.json.partial']);
      for (const name of files) expect(readFileSync(join(disk, name)).length > 0).toBe(name === 'o.json.partial');
    }
  });
});
