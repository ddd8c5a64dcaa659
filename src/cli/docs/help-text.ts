import type { Command } from '../../command.ts';
import { allOperations } from '../../operations/all-operations.ts';
import type { Example } from '../../operations/operation.ts';
import { accountCommands } from '../account-commands.ts';
import { allCommands } from '../all-commands.ts';

/** The module that holds the help of the whole program, which is too short a text to load all commands for. */
export function rootHelpModule(): string {
  const text = rootHelpPage().replace(/[\\`$]/g, '\\$&');
  return `// Generated from the commands by \`npm run generate\`.\n\n/** The help of the whole program: every command on a line. */\nexport const rootHelpText = \`${text}\`;\n`;
}

function rootHelpPage(): string {
  const isOperation = ({ words }: Command): boolean => allOperations.some(({ command }) => command === words);
  const isAccount = (command: Command): boolean => accountCommands.includes(command);
  const sections: readonly (readonly [title: string, of: (command: Command) => boolean])[] = [
    ['Operations', isOperation],
    ['Credentials and profiles', isAccount],
    ['Tools', (command) => !isOperation(command) && !isAccount(command)],
  ];
  const width = Math.max(...allCommands.map((command) => command.words.join(' ').length));
  return [
    'Usage: svc <command> [flags]\n',
    'Replace feedback, discover its schema, chat, train and trace calls, from flags,\nJSON files and pipes.\n',
    ...sections.map(([title, of]) => `${title}:\n${allCommands.filter(of).map(commandLine(width)).join('\n')}\n`),
    'Flags:\n  -h, --help     Show help, also of a command: svc chat --help\n  -V, --version  Print the version\n',
    'Start here:\n  svc chat --local "Hello"            ask the embedded service, nothing to set up\n  svc auth login --base-url <url>     store credentials for a real one\n  svc help exit-codes                 what scripts can rely on\n',
  ].join('\n');
}

/** The commands whose words begin with those of a command that can be run itself, each on a line. */
export function subcommandsText({ words: outer }: Command): string {
  const subcommands = allCommands.filter(
    ({ words }) => words.length > outer.length && outer.every((word, at) => words[at] === word),
  );
  if (subcommands.length === 0) return '';
  const width = Math.max(...subcommands.map(({ words }) => words.join(' ').length));
  return `\nCommands:\n${subcommands.map(({ words, summary }) => `  svc ${words.join(' ').padEnd(width)}  ${summary}`).join('\n')}\n`;
}

/** Examples as help shows them, each below what it is good for. */
export function examplesText(examples: readonly Example[]): string {
  if (examples.length === 0) return '';
  return `\nExamples:\n${examples.map((example) => `  # ${example.why}\n  ${exampleLine(example)}`).join('\n')}`;
}

/** An example as it is typed, with what is piped into it. */
export function exampleLine({ args, stdin }: Example): string {
  return stdin === undefined ? `svc ${args}` : `printf '${stdin.replaceAll('\n', '\\n')}' | svc ${args}`;
}

function commandLine(width: number): (command: Command) => string {
  return ({ words, summary }) => `  ${words.join(' ').padEnd(width)}  ${summary}`;
}
