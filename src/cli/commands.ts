import type { Flag } from '../fields/flag.ts';
import { operations } from '../operations/index.ts';
import type { Operation } from '../operations/operation.ts';
import { accountCommands } from './account-commands.ts';
import { bodyFlags } from './body-flags.ts';
import type { Argument, Command } from './command.ts';
import { operationFlags } from './shared-flags.ts';
import { toolCommands } from './tool-commands.ts';
import { trainCommands } from './train-commands.ts';

/** All commands, in the order help shows them. */
export const commands: readonly Command[] = [
  ...operations.map(operationCommand),
  ...accountCommands,
  ...trainCommands,
  ...toolCommands,
];

/** What the groups of commands are for. */
export const groups: { readonly [word: string]: string } = {
  feedback: 'Feedback on traced objects and calls',
  call: 'Traced calls',
  batch: 'Many bodies at once; svc <operation> --batch sends them',
  auth: 'Credentials of a profile',
  profile: 'Profiles: where to, and as whom',
};

function operationCommand(operation: Operation): Command {
  const { command: words, summary, about, preview, arguments: argument, examples } = operation;
  let flags: readonly Flag[] | undefined;
  return {
    words,
    summary: preview ? `${summary} (preview)` : summary,
    ...(about ? { about } : {}),
    ...(argument ? { argument: argumentOf(argument) } : {}),
    // Made when they are asked for: a run needs those of one command.
    get flags() {
      flags ??= [...bodyFlags(operation), ...operationFlags(operation)];
      return flags;
    },
    examples,
    load: async () => (await import('../commands/operation.ts')).runOperation(operation),
  };
}

function argumentOf({ name, summary, as }: NonNullable<Operation['arguments']>): Argument {
  return { name, summary, many: true, ...(as === 'prompt' ? {} : { isFile: true }) };
}
