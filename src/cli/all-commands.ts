import { sendingFlags } from '../client/request-flags.ts';
import type { Command } from '../command.ts';
import { accountCommands } from '../commands/definitions/account-commands.ts';
import { reportFlags } from '../commands/definitions/define-commands.ts';
import { operationCommands } from '../commands/definitions/operation-commands.ts';
import { toolCommands } from '../commands/definitions/tool-commands.ts';
import { serviceFlags } from '../config/settings.ts';
import type { Flag } from '../flag.ts';
import { resultFlags } from '../output/output-format.ts';
import { helpCommand } from './help-command.ts';

export const allCommands: readonly Command[] = [
  ...operationCommands,
  ...accountCommands,
  ...toolCommands,
  ...helpCommand,
];

/** The flags that may come before the command: those that several commands share. */
export function sharedFlags(): Flag[] {
  return [...serviceFlags(), ...resultFlags('chat'), ...sendingFlags, ...reportFlags];
}

export function commandsIn(words: readonly string[]): Command[] {
  return allCommands.filter((command) => words.every((word, at) => command.words[at] === word));
}

export const commandGroups: { readonly [word: string]: string } = {
  feedback: 'Replace feedback and discover its schema',
  call: 'Record traced calls',
  batch: 'Work with the outputs of batches; svc <operation> --batch sends one',
  auth: 'Store, show and remove credentials',
  profile: 'Manage profiles: base URLs, credentials and defaults',
};

export function topLevelWords(): readonly (readonly [word: string, summary: string])[] {
  const names = new Set(allCommands.map(({ words: [first = ''] }) => first));
  return Array.from(names, (word) => [word, commandGroups[word] ?? commandsIn([word])[0]?.summary ?? '']);
}
