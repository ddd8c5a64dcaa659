import { describe, expect, it } from 'vitest';
import { lostWrites } from '../support/profile-writers.ts';
import { savedHome, wrongAfter } from '../support/store-faults.ts';
import { type Fault, noStrace } from '../support/strace.ts';
import { temporaryDirectory } from '../support/svc.ts';

describe('the store', () => {
  it.each([1, 2, 3, 4, 5])('loses none of the 800 writes of 16 processes: round %i', async () => {
    expect(await lostWrites(temporaryDirectory(), 16, 50)).toEqual({ lost: 0, said: '' });
  });

  it.each<Fault>(['signal=KILL', 'error=ENOSPC', 'error=EIO'])(
    'with %s at each system call of a save is the old or the new one, and no secret is left elsewhere',
    async (fault) => {
      const reason = noStrace();
      if (reason !== undefined) return void process.stdout.write(`skipped: ${reason}\n`);
      const { home, calls } = await savedHome();
      expect(calls.length).toBeGreaterThan(40);
      const wrong: string[] = [];
      for (const call of calls) wrong.push(...(await wrongAfter(fault, call, home)));
      process.stdout.write(`${fault}: ${calls.length} system calls, ${wrong.length} wrong\n`);
      expect(wrong).toEqual([]);
    },
  );
});
