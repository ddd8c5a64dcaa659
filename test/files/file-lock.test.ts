import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { acquireLease, acquireLock, type LockRuntime } from '../../src/files/file-lock.ts';
import { after, clock } from '../support/clock.ts';
import { temporaryDirectory } from '../support/svc.ts';

const world = (more: Partial<LockRuntime> = {}): LockRuntime => ({
  pid: 7,
  host: 'here',
  isRunning: (pid) => pid < 100,
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
      facts: { hint: 'wait for that process; if it no longer runs, remove f.lock' },
    });
    expect(readFileSync(`${path}.lock`, 'utf8')).toBe(text);
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
    const take = async (ms?: number) => {
      isTaking = ms !== undefined;
      try {
        const lease = await acquireLease(path, 'f', taker, ms);
        onTestFinished(lease.release);
        return lease;
      } catch (error) {
        return error;
      } finally {
        isTaking = false;
      }
    };
    return { mine, yours, holder, path, text, pass, take };
  };

  it('is renewed, and is not taken while it is', async () => {
    const { holder, path, text, pass, take } = machines();
    const lease = await acquireLease(path, 'f', holder);
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
    const { mine, holder, path, text, pass, take } = machines();
    const lease = await acquireLease(path, 'f', holder);
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

  it('of a process that ended here is taken at once', async () => {
    const { path, text, take } = machines();
    writeFileSync(`${path}.lock`, '800 there ab\n0000000004');
    expect(await take()).toMatchObject({ requireHeld: expect.any(Function) });
    expect(text()).toMatch(/^8 there /);
  });
});
