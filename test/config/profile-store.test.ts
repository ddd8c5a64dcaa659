import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lostWrites } from '../support/profile-writers.ts';
import { savedHome, wrongAfter } from '../support/store-faults.ts';
import { type Fault, noStrace, withFault } from '../support/strace.ts';
import { temporaryDirectory } from '../support/svc.ts';

const noTracing = noStrace();

describe('the store', () => {
  it('loses none of the writes of 8 processes at once', async () => {
    const home = temporaryDirectory();
    expect(await lostWrites(home, 8, 5)).toEqual({ lost: 0, said: '' });
    expect(readdirSync(join(home, 'config'))).toEqual(['config.json']);
  });

  // test/soak covers every system call of a save; these matter most.
  it.skipIf(noTracing)(`is the old or the new one after a fault${noTracing ? ` (${noTracing})` : ''}`, async () => {
    const { home, calls } = await savedHome();
    const faults: readonly (readonly [Fault, string])[] = [
      ['signal=KILL', 'fsync'],
      ['signal=KILL', 'rename'],
      ['error=ENOSPC', 'pwrite64'],
      // A disk that accepts only 5 bytes, and a rename that is not atomic.
      ['retval=5', 'pwrite64'],
      ['error=EXDEV', 'rename'],
    ];
    const wrong: string[] = [];
    for (const [fault, name] of faults) {
      const matching = calls.filter((call) => call.name === name);
      expect(matching.length, name).toBeGreaterThan(0);
      for (const call of matching) wrong.push(...(await wrongAfter(fault, call, home)));
    }
    expect(wrong).toEqual([]);
  });

  it.skipIf(noTracing)('is saved on a file system that has no hard links', async () => {
    const { home, calls } = await savedHome();
    const call = calls.find(({ name }) => name === 'link');
    const set = ['profile', 'set', 'p', '--base-url', 'https://svc.test'];
    expect(call && withFault(call, 'error=EPERM', set, '', home)).toMatchObject({ status: 0, stderr: '' });
    expect(readdirSync(join(home, 'config'))).toEqual(['config.json']);
  });
});
