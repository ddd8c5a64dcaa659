import type { RunCommand } from '../../command.ts';
import { completionScripts } from './completion-scripts.ts';

/** Prints the completion script of a shell. */
export const runCompletion: RunCommand = async ({ args }, { stdout }) => {
  const shell = completionScripts.find(({ name }) => name === args[0]);
  await stdout.write(shell?.script() ?? '');
  await stdout.end();
};
