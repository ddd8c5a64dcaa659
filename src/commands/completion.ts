import { completionScripts } from '../cli/docs/completion-scripts.ts';
import type { RunCommand } from '../command.ts';

/** Prints the completion script of a shell. */
export const runCompletion: RunCommand = async ({ args }, { stdout }) => {
  const shell = completionScripts.find(({ name }) => name === args[0]);
  await stdout.write(shell?.script() ?? '');
  await stdout.end();
};
