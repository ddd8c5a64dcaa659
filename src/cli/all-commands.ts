import type { Command } from '../command.ts';
import { accountCommands } from './account-commands.ts';
import { operationCommands } from './operation-commands.ts';
import { toolCommands } from './tool-commands.ts';

export const allCommands: readonly Command[] = [...operationCommands, ...accountCommands, ...toolCommands];

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
