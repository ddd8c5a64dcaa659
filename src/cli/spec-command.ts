import type { CommandDefinition } from '../command.ts';
import { type Flag, flagGroup } from '../flag.ts';
import { allOperations } from '../operations/all-operations.ts';
import { bodyFlags } from './body-flags.ts';
import { reportFlagsExcept, resultFlags } from './shared-flags.ts';

/** The command that prints schemas, skeletons and the OpenAPI document. */
export const specCommand: CommandDefinition = {
  words: ['spec'],
  summary: 'Print the JSON Schema, a skeleton, or the OpenAPI document',
  argument: {
    name: 'command',
    summary: 'The operation: feedback replace, chat, ...',
    isRepeatable: true,
    offers: [...new Set(allOperations.map(({ command: [first = ''] }) => first))],
  },
  flags: () => [
    ...flagGroup('Common', {
      '--response': 'Print the schema of the response',
      '--reply': { summary: 'The same as --response', isHidden: true },
      '--skeleton[=<all>]': {
        summary:
          'Print the smallest valid body, with the fields of flags; =all: every field with a comment, as YAML (train: JSONC)',
        choices: ['all'],
      },
      '--openapi': 'Print all operations as an OpenAPI 3.1 document',
    }),
    ...resultFlags('document'),
    ...skeletonFlags(),
    ...reportFlagsExcept('verbose', 'quiet'),
  ],
  examples: [
    { why: 'The schema of a chat body', args: 'spec chat' },
    { why: 'Every field, with comments', args: 'spec chat --skeleton=all' },
    { why: 'A body to fill in', args: 'spec feedback replace --skeleton --project-id acme/support-bot' },
    { why: 'An OpenAPI document for other tools', args: 'spec --openapi' },
  ],
  load: async () => (await import('../commands/spec/spec.ts')).runSpec,
};

// The flags of all bodies, which fill a skeleton in; those of one name mean the same.
function skeletonFlags(): Flag[] {
  const flags = allOperations.flatMap(bodyFlags).filter(({ name }) => name !== 'conversation');
  const all = [...flags, ...flagGroup('Body', { '--set <path=text>...': 'Set a field' })];
  const byName = new Map(all.map((flag) => [flag.name, flag]));
  return Array.from(byName.values(), ({ short: _short, conflicts: _conflicts, ...flag }) => ({
    ...flag,
    isHidden: true,
  }));
}
