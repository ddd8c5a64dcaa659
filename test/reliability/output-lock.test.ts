import { spawn, spawnSync } from 'node:child_process';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { answerJson, countingServer, holdingServer } from '../support/counting-server.ts';
import { cleanEnv, type Finished, program, run, waitForExit } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

const LINE_COUNT = 12;
const reply = { choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }] };
const container = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc'];
const canSplit = spawnSync('unshare', [...container.slice(1), 'true']).status === 0;
if (!canSplit) process.stderr.write('skipped: locks of containers; namespaces cannot be created here\n');

/** A batch whose server holds the responses to the lines from the fourth on until `release`. */
async function batch() {
  const cwd = temporaryDirectory();
  const lines = Array.from(
    { length: LINE_COUNT },
    (_, at) => `{"model":"m","messages":[{"role":"user","content":"p${at}"}]}\n`,
  );
  writeFileSync(join(cwd, 'in.jsonl'), lines.join(''));
  const server = await holdingServer(reply);
  const env = { SVC_TOKEN: 'tok-en-1', SVC_BASE_URL: server.url };
  const args = ['chat', '--batch', 'in.jsonl', '-o', 'out.jsonl', '--concurrency', '2', '--exact'];
  const startIn = (prefix: readonly string[], more: readonly string[] = []) => {
    const [command = '', ...words] = [...prefix, process.execPath, program, ...args, ...more];
    const child = spawn(command, words, { cwd, env: cleanEnv(cwd, env) });
    onTestFinished(() => void child.kill('SIGKILL'));
    child.stdin.end();
    return { child, end: waitForExit(child) };
  };
  return {
    cwd,
    lock: join(cwd, 'out.jsonl.lock'),
    startIn,
    resume: (): Promise<Finished> => run([...args, '--resume'], { cwd, env }),
    isFull: () => expect.poll(server.held, { timeout: 60_000 }).toBe(2),
    release: server.release,
    sentTwice: () => [...server.counts.values()].filter((count) => count > 1).length,
    sent: () => server.counts.size,
  };
}

// Each waits for more than a minute, so that they wait at the same time.
const waits = new Map<string, () => Promise<void>>();

const places: [string, string, string[], string[]][] = [
  ['a container', 'the host', container, []],
  ['the host', 'a container', [], container],
  ['a container', 'another container', container, container],
];
for (const [holderName, takerName, holderPlace, takerPlace] of canSplit ? places : [])
  waits.set(`an output that ${holderName} writes is not taken by ${takerName}`, async () => {
    const { startIn, isFull, release, sentTwice, sent } = await batch();
    const holder = startIn(holderPlace);
    await isFull();
    const refused = await startIn(takerPlace).end;
    expect(refused).toMatchObject({
      code: 13,
      stderr: expect.stringContaining('add --resume, which takes a lock that is not renewed'),
    });
    const taker = await startIn(takerPlace, ['--resume']).end;
    expect(taker.code).toBe(13);
    expect(taker.stderr).toMatch(/waiting 65 s to see if it renews its lock\n.*is in use by process \d+ on /);
    release();
    expect(await holder.end).toMatchObject({ code: 0 });
    expect([sent(), sentTwice()]).toEqual([LINE_COUNT, 0]);
  });

if (canSplit)
  waits.set(
    'an output of a killed container is resumed without a flag, and its lines in flight are unknown',
    async () => {
      const { startIn, isFull, release, sentTwice, sent, lock } = await batch();
      const holder = startIn(container);
      await isFull();
      // A signal to `unshare` ends the first process of the namespace as well.
      holder.child.kill('SIGKILL');
      await holder.end;
      release();
      const taker = await startIn(container, ['--resume']).end;
      expect(taker).toMatchObject({
        code: 10,
        stderr: expect.stringContaining(`${LINE_COUNT - 2} done, 0 failed, 2 unknown, 0 not sent`),
      });
      expect([sent(), sentTwice()]).toEqual([LINE_COUNT, 0]);
      expect(() => readFileSync(lock)).toThrow('ENOENT');
    },
  );

it('a lock that was removed is created again, and the batch continues', async () => {
  const { startIn, isFull, release, resume, sentTwice, sent, lock } = await batch();
  const holder = startIn([]);
  await isFull();
  const [token] = readFileSync(lock, 'utf8').split('\n');
  rmSync(lock);
  release();
  const { code, stderr } = await holder.end;
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: expect.stringContaining('out.jsonl.lock was removed while the batch runs; it is restored'),
  });
  expect(token).toMatch(/^\d+ \S+ [0-9a-f]{16}/);
  expect(await resume()).toMatchObject({ code: 0 });
  expect([sent(), sentTwice()]).toEqual([LINE_COUNT, 0]);
});

it.each([
  ['that replaced the file', (lock: string) => rmSync(lock)],
  ['that was written into the file', () => {}],
])('a batch stops at the lock of another process %s, and its lines in flight are unknown', async (_, prepare) => {
  const { startIn, isFull, release, sent, lock } = await batch();
  const holder = startIn([]);
  await isFull();
  prepare(lock);
  writeFileSync(lock, `${process.pid} ${hostname()} ab`);
  release();
  const { code, stderr } = await holder.end;
  expect({ code, stderr }).toEqual({
    code: 13,
    stderr: expect.stringContaining('the lock of out.jsonl was replaced, so another process has taken the batch over'),
  });
  expect(stderr).toContain('3 done, 0 failed, 2 unknown');
  expect(sent()).toBe(5);
  expect(readFileSync(lock, 'utf8')).toBe(`${process.pid} ${hostname()} ab`);
});

it.each<[string, (lock: string, cwd: string) => void]>([
  ['a directory', (lock) => mkdirSync(lock)],
  ['a FIFO', (lock) => void spawnSync('mkfifo', [lock])],
  ['a link to a device', (lock) => symlinkSync('/dev/zero', lock)],
  ['a link to a file', (lock, cwd) => symlinkSync(join(cwd, 'in.jsonl'), lock)],
  ['a link to nothing', (lock) => symlinkSync('nothing', lock)],
  ['a large file', (lock) => [writeFileSync(lock, ''), truncateSync(lock, 4 * 1024 ** 3)]],
  ['a small file of text', (lock) => writeFileSync(lock, 'notes\n')],
  ['a lock file of another program', (lock) => writeFileSync(lock, `${process.pid}\n`)],
])('%s in place of a lock is exit 13 at once, and stays', async (_, prepare) => {
  const { cwd, lock, resume, sent } = await batch();
  prepare(lock, cwd);
  const end = await resume();
  expect(end).toMatchObject({ code: 13, stderr: expect.stringContaining('so it is not a lock of svc') });
  expect(sent()).toBe(0);
  expect(readdirSync(cwd)).toContain('out.jsonl.lock');
});

for (const [name, text] of [
  ['empty', ''],
  ['of NUL characters', '\0'.repeat(80)],
] as const)
  waits.set(`a lock that a crash left ${name} is taken by --resume after 65 s without a change`, async () => {
    const { startIn, release, lock, sent } = await batch();
    release();
    writeFileSync(lock, text);
    const refused = await startIn([]).end;
    expect(refused).toMatchObject({
      code: 13,
      stderr: expect.stringContaining('out.jsonl is in use by another process\n'),
    });
    expect(refused.stderr).toContain('add --resume, which takes a lock that is not renewed');
    expect(sent()).toBe(0);
    const started = performance.now();
    const taker = await startIn([], ['--resume']).end;
    expect(taker).toMatchObject({ code: 0, stderr: expect.stringContaining(`${LINE_COUNT} done`) });
    expect(performance.now() - started).toBeGreaterThan(65_000);
  });

waits.set('a lock that a crash left empty is not taken while its process writes it', async () => {
  const { startIn, release, lock, sent } = await batch();
  release();
  writeFileSync(lock, '');
  const { child, end } = startIn([], ['--resume']);
  let hasWarned = false;
  child.stderr.on('data', (chunk) => {
    if (hasWarned || !String(chunk).includes('waiting 65 s')) return;
    hasWarned = true;
    writeFileSync(lock, `${process.pid} ${hostname()} ab`);
  });
  expect(await end).toMatchObject({ code: 13, stderr: expect.stringContaining('in use by another process') });
  expect(sent()).toBe(0);
});

waits.set('the lock of a conversation is renewed while its chat runs', async () => {
  const cwd = temporaryDirectory();
  const lock = join(cwd, 'talk.json.lock');
  let answer = (): void => {};
  const { url } = await countingServer(
    () => 'chat',
    (_, response) => {
      answer = () => answerJson(response, reply);
    },
  );
  const env = { SVC_TOKEN: 'tok-en-1', SVC_BASE_URL: url };
  const end = run(['chat', '-q', '--conversation', 'talk.json', 'hi'], { cwd, env });
  const renewals = (): string => {
    try {
      return readFileSync(lock, 'utf8').split('\n')[1] ?? '';
    } catch {
      return '';
    }
  };
  await expect.poll(renewals, { timeout: 60_000 }).toBe('0000000001');
  answer();
  expect(await end).toMatchObject({ code: 0 });
  // Newer lines of Node keep compiled code in the home directory.
  expect(readdirSync(cwd).filter((name) => name !== '.cache')).toEqual(['talk.json']);
});

it('the lock of a conversation counts for 60 s without a change, if its process cannot be checked', async () => {
  const cwd = temporaryDirectory();
  const lock = join(cwd, 'talk.json.lock');
  const chat = () => run(['chat', '--local', '-q', '--conversation', 'talk.json', 'hi'], { cwd });
  writeFileSync(lock, `1 ${hostname()} ${'ab'.repeat(16)} 5 1/another-boot`);
  const refused = await chat();
  expect(refused).toMatchObject({ code: 12, stderr: expect.stringContaining('talk.json is in use by process 1 on ') });
  const time = Date.now() / 1000 - 61;
  utimesSync(lock, time, time);
  writeFileSync(`${lock}.${'cd'.repeat(8)}`, `999999999 ${hostname()} ${'cd'.repeat(8)}`);
  expect(await chat()).toMatchObject({ code: 0 });
  expect(readdirSync(cwd).filter((name) => name.includes('.lock'))).toEqual([]);
});

it('an owner who cannot be asked is judged by the renewals of the lock', async () => {
  const end = async ([name, wait]: [string, () => Promise<void>]): Promise<void> => {
    await wait().catch((cause) => Promise.reject(new Error(name, { cause })));
  };
  await Promise.all([...waits].map(end));
});
