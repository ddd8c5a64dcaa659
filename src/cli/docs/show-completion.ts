import type { RunCommand } from '../../command.ts';
import { getStringFlag, knownNameKinds } from '../../flag.ts';
import { completionScripts } from './completion-scripts.ts';

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
