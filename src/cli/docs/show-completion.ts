import type { RunCommand } from '../../command.ts';
import { getStringFlag, knownNameKinds } from '../../flag.ts';
import { bashCompletion } from './completion-bash.ts';
import { fishCompletion } from './completion-fish.ts';
import { zshCompletion } from './completion-zsh.ts';

/** The completion scripts, by shell and generated file. They are made from the commands: only names need svc itself. */
export const completionScripts = [
  { name: 'bash', file: 'svc.bash', script: bashCompletion },
  { name: 'zsh', file: '_svc', script: zshCompletion },
  { name: 'fish', file: 'svc.fish', script: fishCompletion },
] as const;

/** Prints the completion script of a shell or, for such a script, names that svc knows. */
export const runCompletion: RunCommand = async ({ args, flags }, context) => {
  const kind = knownNameKinds.find((one) => one === getStringFlag(flags, 'names'));
  if (kind) {
    const { knownNames } = await import('./known-names.ts');
    for (const name of await knownNames(kind, context.runtime)) await context.stdout.write(`${name}\n`);
  } else {
    await context.stdout.write(completionScripts.find(({ name }) => name === args[0])?.script() ?? '');
  }
  await context.stdout.end();
};
