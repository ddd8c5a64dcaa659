import type { Run } from '../cli/command.ts';
import { completionScripts } from '../cli/completions.ts';

/** Prints the completion script of a shell. */
export const runCompletion: Run = async ({ args }, { stdout }) => {
  const shell = completionScripts.find(({ name }) => name === args[0]);
  await stdout.write(shell?.script() ?? '');
  await stdout.end();
};
