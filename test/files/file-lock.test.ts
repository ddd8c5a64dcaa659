import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { acquireLease, acquireLock, type LockRuntime } from '../../src/files/file-lock.ts';
import { after, clock } from '../support/clock.ts';
import { temporaryDirectory } from '../support/svc.ts';

const world = (more: Partial<LockRuntime> = {}): LockRuntime => ({
  pid: 7,
  host: 'here',
  isRunning: (pid) => pid < 100,
  processScope: undefined,
  processStart: () => undefined,
  elapsed: () => performance.now(),
  uptime: () => performance.now(),
  after,
  randomBytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
  ...more,
});

describe('a lock', () => {
  it('is held by one process at a time, and waiting ones take turns', async () => {
    const path = join(temporaryDirectory(), 'f');
    let inside = 0;
    const turn = async (): Promise<number> => {
      const unlock = await acquireLock(path, 'f', world(), 20_000);
      const together = ++inside;
      await new Promise((resolve) => setImmediate(resolve));
      inside--;
      await unlock();
      return together;
    };
    expect(await Promise.all(Array.from({ length: 30 }, turn))).toEqual(Array.from({ length: 30 }, () => 1));
    expect(existsSync(`${path}.lock`)).toBe(false);
  });

  it.each([
    ['a process that runs', '8 here ab', 'f is in use by process 8'],
    ['a process of another machine', '800 there ab', 'f is in use by process 800 on there'],
    ['nobody knows whom', '', 'f is in use by another process'],
  ])('of %s is respected, and its holder is named', async (_, text, message) => {
    const path = join(temporaryDirectory(), 'f');
    writeFileSync(`${path}.lock`, text);
    await expect(acquireLock(path, 'f', world())).rejects.toMatchObject({
      message,
      facts: { hint: 'wait for that process' },
    });
    expect(readFileSync(`${path}.lock`, 'utf8')).toBe(text);
  });

  it('of another PID namespace or boot is respected while it changes, and taken after 60 s without a change', async () => {
    const path = join(temporaryDirectory(), 'f');
    writeFileSync(`${path}.lock`, '800 here ab 5 2@boot');
    const runtime = world({ processScope: '1@boot' });
    await expect(acquireLock(path, 'f', runtime)).rejects.toMatchObject({
      message: 'f is in use by process 800 on here',
    });
    const before = Date.now() / 1000 - 61;
    utimesSync(`${path}.lock`, before, before);
    await (await acquireLock(path, 'f', runtime))();
    expect(existsSync(`${path}.lock`)).toBe(false);
  });

  it('of this PID namespace is judged by its process, whatever the host name', async () => {
    const path = join(temporaryDirectory(), 'f');
    writeFileSync(`${path}.lock`, '800 there ab - 1@boot');
    const unlock = await acquireLock(path, 'f', world({ processScope: '1@boot', processStart: () => '77' }));
    expect(readFileSync(`${path}.lock`, 'utf8')).toMatch(/^7 here \w{16} 77 1@boot$/);
    await unlock();
  });

  it.each<[string, (file: string) => void]>([
    ['a directory', (file) => mkdirSync(file)],
    ['a FIFO', (file) => void spawnSync('mkfifo', [file])],
    ['a device', (file) => symlinkSync('/dev/zero', file)],
    ['a symlink', (file) => symlinkSync('elsewhere', file)],
    ['a large file', (file) => writeFileSync(file, Buffer.alloc(5000, '1'))],
  ])('that is %s is refused at once, and stays', async (_, create) => {
    const path = join(temporaryDirectory(), 'f');
    create(`${path}.lock`);
    await expect(acquireLock(path, 'f', world(), 1e9)).rejects.toMatchObject({
      code: 'safety_check',
      message: expect.stringContaining('so it is not a lock of svc'),
    });
    expect(readdirSync(dirname(path))).toEqual(['f.lock']);
  });

  it('removes what killed processes left beside it, and nothing of processes that run', async () => {
    const cwd = temporaryDirectory();
    const path = join(cwd, 'f');
    writeFileSync(`${path}.lock.00000000000000aa`, '800 here aa');
    writeFileSync(`${path}.lock.00000000000000bb`, '8 here bb');
    writeFileSync(`${path}.lock.notes`, '800 here aa');
    await (await acquireLock(path, 'f', world()))();
    expect(readdirSync(cwd).sort()).toEqual(['f.lock.00000000000000bb', 'f.lock.notes']);
  });

  it('of another process is not removed by the one whose lock it replaced', async () => {
    const path = join(temporaryDirectory(), 'f');
    const unlock = await acquireLock(path, 'f', world());
    writeFileSync(`${path}.lock`, '8 here bb');
    await unlock();
    expect(readFileSync(`${path}.lock`, 'utf8')).toBe('8 here bb');
  });

  it('of a process that ended is taken over by one of many', async () => {
    const path = join(temporaryDirectory(), 'f');
    writeFileSync(`${path}.lock`, '800 here ab');
    const taken = await Promise.allSettled(Array.from({ length: 20 }, () => acquireLock(path, 'f', world())));
    expect(taken.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(readFileSync(`${path}.lock`, 'utf8')).toMatch(/^7 here /);
  });

  it('that is released while another process asks for it is taken, not reported as held by nobody', async () => {
    const cwd = temporaryDirectory();
    const path = join(cwd, 'f');
    const refusals = new Set<string>();
    const visit = async (): Promise<void> => {
      try {
        await (await acquireLock(path, 'f', world()))();
      } catch (error) {
        refusals.add(String(error));
      }
    };
    for (let round = 0; round < 100; round++) await Promise.all(Array.from({ length: 8 }, visit));
    expect([...refusals]).toEqual(['Failure: f is in use by process 7']);
    expect(readdirSync(cwd)).toEqual([]);
  });

  it('in a directory that does not exist is an error', async () => {
    const path = join(temporaryDirectory(), 'none', 'f');
    await expect(acquireLock(path, 'f', world())).rejects.toMatchObject({
      code: 'local_file',
      message: 'cannot lock f: no such file or directory',
    });
  });

  it('can be released when its file was removed', async () => {
    const path = join(temporaryDirectory(), 'f');
    const unlock = await acquireLock(path, 'f', world());
    await rm(`${path}.lock`);
    await unlock();
    expect(existsSync(`${path}.lock`)).toBe(false);
  });
});

describe('a lease', () => {
  // Two machines: their processes cannot be checked, and their clocks have nothing in common.
  const machines = () => {
    const [mine, yours] = [clock(), clock()];
    yours.advance(9e8);
    const other = { host: 'there', pid: 8 };
    const holder = world({ elapsed: mine.elapsed, uptime: mine.elapsed, after: mine.after });
    const taker = world({ ...other, elapsed: yours.elapsed, uptime: yours.elapsed, after: yours.after });
    const path = join(temporaryDirectory(), 'f');
    const text = () => readFileSync(`${path}.lock`, 'utf8');
    let isTaking = false;
    // Seconds of both machines, each after the work that waits for its timer is done.
    const pass = async (seconds: number, isHolderStopped = false): Promise<void> => {
      for (let second = 0; second < seconds; second += 1) {
        await mine.settled(() => mine.pending() > 0 && (!isTaking || yours.pending() > 0));
        if (!isHolderStopped) mine.advance(1000);
        yours.advance(1000);
      }
    };
    const warn = async () => {};
    const take = async (ms?: number) => {
      isTaking = ms !== undefined;
      try {
        const lease = await acquireLease(path, 'f', taker, { takeOverMs: ms, warn });
        onTestFinished(lease.release);
        return lease;
      } catch (error) {
        return error;
      } finally {
        isTaking = false;
      }
    };
    return { mine, yours, holder, path, text, pass, take, warn };
  };

  it('is renewed, and is not taken while it is', async () => {
    const { holder, path, text, pass, take, warn } = machines();
    const lease = await acquireLease(path, 'f', holder, { warn });
    const first = text();
    await pass(25);
    await expect.poll(text).not.toBe(first);
    const attempt = take(65_000);
    await pass(30);
    expect(await attempt).toMatchObject({ code: 'safety_check', message: 'f is in use by process 7 on here' });
    lease.requireHeld();
    await lease.release();
    expect(existsSync(`${path}.lock`)).toBe(false);
  });

  it('that is not renewed is taken after the time, never without the flag; its holder stops', async () => {
    const { mine, holder, path, text, pass, take, warn } = machines();
    const lease = await acquireLease(path, 'f', holder, { warn });
    expect(await take()).toMatchObject({ message: 'f is in use by process 7 on here' });
    const attempt = take(65_000);
    let taken: unknown;
    void attempt.then((value) => {
      taken = value;
    });
    await pass(63, true);
    expect(taken).toBeUndefined();
    expect(text()).toMatch(/^7 here /);
    await pass(5, true);
    await expect.poll(() => taken).toBeDefined();
    expect(text()).toMatch(/^8 there /);
    // The holder wakes up: its timers are late, and it neither renews nor removes the lock of the other.
    mine.advance(68_000);
    expect(() => lease.requireHeld()).toThrow('the lock of f could not be renewed for 60 s');
    await pass(20);
    await lease.release();
    expect(text()).toMatch(/^8 there /);
  });

  it('that was removed is put back with a warning; one that another process took ends the lease', async () => {
    const path = join(temporaryDirectory(), 'f');
    const warnings: string[] = [];
    const warn = async (message: string): Promise<void> => void warnings.push(message);
    const lease = await acquireLease(path, 'f', world(), { warn });
    const before = readFileSync(`${path}.lock`, 'utf8');
    await rm(`${path}.lock`);
    lease.requireAtPath();
    expect(readFileSync(`${path}.lock`, 'utf8')).toBe(before);
    expect(warnings).toEqual(['f.lock was removed while the batch runs; it is restored']);
    writeFileSync(`${path}.lock`, '8 here bb');
    expect(() => lease.requireAtPath()).toThrow('the lock of f was replaced');
    expect(() => lease.requireHeld()).toThrow('the lock of f was replaced');
    await lease.release();
    expect(readFileSync(`${path}.lock`, 'utf8')).toBe('8 here bb');
  });

  it('of a process that ended here is taken at once', async () => {
    const { path, text, take } = machines();
    writeFileSync(`${path}.lock`, '800 there ab\n0000000004');
    expect(await take()).toMatchObject({ requireHeld: expect.any(Function) });
    expect(text()).toMatch(/^8 there /);
  });
});
