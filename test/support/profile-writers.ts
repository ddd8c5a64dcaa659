import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanEnv, type Finished, waitForExit } from './process.ts';

const script = new URL('./profile-writer.js', import.meta.url).pathname;

/** Lets many processes write profiles at once; returns the number of lost writes, and the output. */
export async function lostWrites(
  home: string,
  processes: number,
  writes: number,
): Promise<{ lost: number; said: string }> {
  const names = Array.from({ length: processes }, (_, index) => `p${index}`);
  const done = await Promise.all(
    names.map((name): Promise<Finished> => {
      const child = spawn(process.execPath, [script, name, String(writes)], { cwd: home, env: cleanEnv(home) });
      return waitForExit(child);
    }),
  );
  const { profiles } = JSON.parse(readFileSync(join(home, 'config', 'config.json'), 'utf8'));
  return { lost: processes * writes - Object.keys(profiles).length, said: done.map(({ stderr }) => stderr).join('') };
}
