import type { Argument, Command } from '../command.ts';
import type { Flag } from '../flag.ts';
import { allOperations } from '../operations/all-operations.ts';
import type { Operation } from '../operations/operation.ts';
import { accountCommands } from './account-commands.ts';
import { bodyFlags } from './body-flags.ts';
import { operationFlags } from './shared-flags.ts';
import { toolCommands } from './tool-commands.ts';
import { trainCommands } from './train-commands.ts';

/** All commands, in the order help shows them. */
export const allCommands: readonly Command[] = [
  ...allOperations.map(commandForOperation),
  ...accountCommands,
  ...trainCommands,
  ...toolCommands,
];

/** What the groups of commands are for. */
export const commandGroups: { readonly [word: string]: string } = {
  feedback: 'Feedback on traced objects and calls',
  call: 'Traced calls',
  batch: 'Many bodies at once; svc <operation> --batch sends them',
  auth: 'Credentials of a profile',
  profile: 'Profiles: where to, and as whom',
};

function commandForOperation(operation: Operation): Command {
  const { command: words, summary, about, preview, arguments: argument, examples } = operation;
  let flags: readonly Flag[] | undefined;
  return {
    words,
    summary: preview ? `${summary} (preview)` : summary,
    ...(about ? { about } : {}),
    ...(argument ? { argument: operationArgument(argument) } : {}),
    // Made when they are asked for: a run needs those of one command.
    get flags() {
      flags ??= [...bodyFlags(operation), ...operationFlags(operation)];
      return flags;
    },
    examples,
    load: async () => (await import('../commands/operation/operation.ts')).runOperation(operation),
  };
}

function operationArgument({ name, summary, as }: NonNullable<Operation['arguments']>): Argument {
  return { name, summary, isRepeatable: true, ...(as === 'prompt' ? {} : { isFile: true }) };
}
