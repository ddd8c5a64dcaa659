import { Failure } from '../../errors.ts';
import type { Runtime } from '../../runtime.ts';

/** Finds the program on the PATH, and exits with 126 or 127 if it cannot be run. Node itself would abort then. */
export const PROCESS_LAUNCHER = '/usr/bin/env';

/** Becomes the command: it keeps the process id of svc, and svc is gone. */
export function replaceProcess(
  words: readonly string[],
  env: Runtime['env'],
  runtime: Pick<Runtime, 'replaceProcess'>,
): never {
  runtime.replaceProcess?.(PROCESS_LAUNCHER, ['env', '--', ...words], env);
  throw new Failure('bug', `${words[0]} did not replace svc`);
}
