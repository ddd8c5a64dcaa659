import { access, constants } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Failure } from '../../errors.ts';
import type { Runtime } from '../../runtime.ts';

/**
 * Becomes the command: it keeps the process id of svc, and svc is gone. Returns only the exit code of a command that
 * does not exist (127) or cannot be run (126).
 */
export async function replaceProcess(
  words: readonly string[],
  env: Runtime['env'],
  runtime: Pick<Runtime, 'replaceProcess' | 'cwd'>,
): Promise<number> {
  const [program = ''] = words;
  const file = await findProgram(program, env, runtime.cwd);
  if (file === undefined) return 127;
  try {
    runtime.replaceProcess?.(file, words, env);
  } catch {
    return 126;
  }
  throw new Failure('bug', `${program} did not replace svc`);
}

async function findProgram(program: string, env: Runtime['env'], cwd: string): Promise<string | undefined> {
  const candidates = program.includes('/')
    ? [resolve(cwd, program)]
    : (env.PATH ?? '').split(':').map((directory) => resolve(cwd, directory, program));
  for (const candidate of candidates) {
    const isExecutable = await access(candidate, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isExecutable) return candidate;
  }
  return undefined;
}
