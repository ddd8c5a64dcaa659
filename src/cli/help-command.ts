import type { Command } from '../command.ts';
import { command, defineCommands } from '../commands/definitions/define-commands.ts';
import { type FlagList, flagGroup } from '../flag.ts';
import { filterForms, type ResultOptions } from '../output/output-format.ts';

export type HelpOptions = Omit<ResultOptions, 'format'> & { readonly skill: true | undefined };

/** The topics of `svc help` beside the commands. Their texts are in docs/help-topics.ts, which only help loads. */
export const helpTopicNames = [
  'bodies',
  'batch',
  'exit-codes',
  'environment',
  'connection',
  'output',
  'profiles',
  'retries',
  'training',
  'tracing',
  'local-service',
] as const;

export const helpCommand: readonly Command[] = defineCommands('Tools', {
  help: command({
    summary: 'Show help for a command or topic',
    argument: { name: 'topic', summary: 'A command or a topic', isRepeatable: true, offers: helpTopicNames },
    flags: helpFlags,
    isQuiet: true,
    examples: { 'help exit-codes': 'List the exit codes' },
    load: async () => (await import('./docs/show-help.ts')).runHelp,
  }),
});

function helpFlags(): FlagList<HelpOptions> {
  return flagGroup('Common', {
    '--json': {
      summary: 'Print the command tree, or the named commands, as JSON: flags, types, defaults, examples',
      conflicts: ['skill'],
    },
    ...filterForms({ conflicts: ['skill'] }),
    '--skill': 'Print a skill file for agents',
  }).slice();
}
