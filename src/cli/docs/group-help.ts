import type { Command } from '../../command.ts';
import { allCommands, commandGroups, commandsIn, topLevelWords } from '../all-commands.ts';
import { helpTopicNames } from '../help-topic-names.ts';
import type { HelpRequest } from '../parse-command-line.ts';
import { type HelpSection, renderHelp } from './help-page.ts';
import { commandEntry, examplesSection, fullHelp, shortHelp } from './help-text.ts';

const GENERATED_COLUMNS = 80;

/** The help of a command, of a group of commands, or of svc, wrapped to `columns`. */
export function helpText({ words, isFull }: HelpRequest, columns: number): string {
  const command = allCommands.find(({ name }) => name === words.join(' '));
  if (command) return isFull ? fullHelp(command, columns) : shortHelp(command, columns);
  if (words.length > 0) return groupHelp(words, Math.min(columns, GENERATED_COLUMNS));
  return isFull ? rootHelp(columns) : rootShortHelp(columns);
}

/** The description of svc in two sentences. */
export const introduction =
  'Send feedback, chats, training jobs and traced calls to a service. Request bodies come from flags, files and stdin.';

const startExamples: readonly (readonly [command: string, why: string])[] = [
  ['svc chat --local "Hello"', 'ask the local service; needs no setup'],
  ['svc auth login --base-url <url>', 'store credentials for a real service'],
  ['svc doctor', 'show the settings and test the connection'],
];

// Comments are beside the commands if there is room for them.
function startSection(examples: typeof startExamples, columns: number): HelpSection {
  const width = Math.max(...examples.map(([command]) => command.length));
  const lines = examples.map(([command, why]) => `${command.padEnd(width)}  # ${why}`);
  const isWide = lines.every((line) => line.length <= columns - 2);
  return { heading: 'Examples', code: isWide ? lines : examples.flatMap(([command, why]) => [`# ${why}`, command]) };
}

function rootHelp(columns: number): string {
  const isAccount = ({ words: [group] }: Command): boolean => group === 'auth' || group === 'profile';
  const section = (heading: string, isIncluded: (command: Command) => boolean): HelpSection => ({
    heading,
    entries: allCommands.filter(isIncluded).map(({ name, summary }) => ({ term: name, summary })),
  });
  return renderHelp(
    [
      { paragraphs: [introduction] },
      { heading: 'Usage', code: ['svc <command> [flags]'] },
      startSection(startExamples, columns),
      section('Operations', ({ operation }) => operation !== undefined),
      section('Credentials and profiles', isAccount),
      section('Tools', (command) => !command.operation && !isAccount(command)),
      {
        heading: 'Flags',
        entries: [
          { term: '-h, --help', summary: 'Show help: -h the most useful flags, --help all of them' },
          { term: '-V, --version', summary: 'Print the version' },
        ],
      },
      { heading: 'Topics', paragraphs: [`svc help <topic>: ${helpTopicNames.join(', ')}`] },
    ],
    columns,
  );
}

function rootShortHelp(columns: number): string {
  return renderHelp(
    [
      { heading: 'Usage', code: ['svc <command> [flags]'] },
      {
        heading: 'Commands',
        entries: topLevelWords().map(([term, summary]) => ({ term, summary: summary.split(';')[0] ?? '' })),
      },
      startSection(startExamples.slice(0, 2), columns),
      { paragraphs: ['svc --help lists all commands and topics.'] },
    ],
    columns,
  );
}

function groupHelp(words: readonly string[], columns: number): string {
  const commands = commandsIn(words);
  const name = words.join(' ');
  const examples = commands.flatMap((command) => command.examples.slice(0, 1)).slice(0, 3);
  return renderHelp(
    [
      { paragraphs: [`${commandGroups[name] ?? name}.`] },
      { heading: 'Usage', code: [`svc ${name} <command> [flags]`] },
      examplesSection(examples, true),
      { heading: 'Commands', entries: commands.map(commandEntry) },
      { paragraphs: [`svc ${name} <command> --help shows the flags of a command.`] },
    ],
    columns,
  );
}
