import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { acquireLock, type LockRuntime } from '../../src/files/file-lock.ts';
import { after } from '../support/clock.ts';
import { temporaryDirectory } from '../support/svc.ts';

const world = (more: Partial<LockRuntime> = {}): LockRuntime => ({
  pid: 7,
  host: 'here',
  isRunning: (pid) => pid < 100,
  processStart: () => undefined,
  elapsed: () => performance.now(),
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
