import type { Argument, Command, CommandDefinition, RunCommand } from '../command.ts';
import type { Flag } from '../flag.ts';
import { allOperations } from '../operations/all-operations.ts';
import { chatOperation } from '../operations/chat.ts';
import type { Operation } from '../operations/operation.ts';
import { trainOperation } from '../operations/train.ts';
import { accountCommands } from './account-commands.ts';
import { bodyFlags } from './body-flags.ts';
import { callCommands } from './call-commands.ts';
import { logCommands } from './log-commands.ts';
import { operationFlags } from './shared-flags.ts';
import { toolCommands } from './tool-commands.ts';
import { trainCommands } from './train-commands.ts';

/** All commands, in the order of help. */
export const allCommands: readonly Command[] = [
  ...allOperations.map(operationCommand),
  ...callCommands,
  ...accountCommands,
  ...trainCommands,
  ...logCommands,
  ...toolCommands,
].map(createCommand);

/** The commands that begin with these words, in the order of help. */
export function commandsIn(words: readonly string[]): Command[] {
  return allCommands.filter((command) => words.every((word, at) => command.words[at] === word));
}

/** The groups of commands, by their first word. */
export const commandGroups: { readonly [word: string]: string } = {
  feedback: 'Replace feedback and discover its schema',
  call: 'Record traced calls',
  batch: 'Work with the outputs of batches; svc <operation> --batch sends one',
  auth: 'Store, show and remove credentials',
  profile: 'Manage profiles: base URLs, credentials and defaults',
};

/** The first words of command lines: commands of one word and groups, with summaries. */
export function topLevelWords(): readonly (readonly [word: string, summary: string])[] {
  const words = new Map<string, string>();
  for (const {
    words: [first = '', second],
    summary,
  } of allCommands) {
    if (!words.has(first)) words.set(first, second === undefined ? summary : (commandGroups[first] ?? ''));
  }
  return [...words];
}

function operationCommand(operation: Operation): CommandDefinition {
  const { command: words, summary, about, isPreview, arguments: argument, examples } = operation;
  return {
    words,
    summary: isPreview ? `${summary} (preview)` : summary,
    ...(about ? { about } : {}),
    ...(argument ? { argument: operationArgument(argument) } : {}),
    flags: () => [...bodyFlags(operation), ...operationFlags(operation)],
    examples,
    operation,
    load: () => loadOperation(operation),
  };
}

// A conversation, and a body larger than memory, take steps of their own.
async function loadOperation(operation: Operation): Promise<RunCommand> {
  if (operation === chatOperation) return (await import('../commands/chat/chat.ts')).runChat;
  if (operation === trainOperation) return (await import('../commands/train/train.ts')).runTrain;
  return (await import('../commands/operation/operation.ts')).runOperation(operation);
}

// Flags are made on first use: a run needs those of one command.
function createCommand(definition: CommandDefinition): Command {
  let flags: readonly Flag[] | undefined;
  return {
    ...definition,
    name: definition.words.join(' '),
    get flags() {
      flags ??= definition.flags();
      return flags;
    },
    get listedFlags() {
      return this.flags.filter(({ isHidden }) => !isHidden);
    },
  };
}

function operationArgument({ name, summary, as }: NonNullable<Operation['arguments']>): Argument {
  return { name, summary, isRepeatable: true, ...(as === 'prompt' ? {} : { isFile: true }) };
}
