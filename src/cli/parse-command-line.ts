import { CommanderError, Command as Program } from 'commander';
import type { Argument, Command, Invocation } from '../command.ts';
import { type Failure, usageFailure } from '../errors.ts';
import { type FlagValues, getStringFlag } from '../flag.ts';
import { allCommands, commandGroups } from './all-commands.ts';
import { commanderOptions, optionTerm, readFlagValues } from './commander-options.ts';
import { examplesText, subcommandsText } from './docs/help-text.ts';
import { rootHelp, versionText } from './docs/root-help.ts';
import { normalizeArguments } from './normalize-arguments.ts';

/** A command line that was understood: something to run, or text that was asked for. */
export type ParsedCommandLine = { readonly invocation: Invocation } | { readonly text: string };

/**
 * Reads a command line. Each command has its own flags and the root only help and version, so no flag is taken by the
 * wrong command. Throws usage for whatever is wrong with it. `columns` is the width of help.
 */
export function parseCommandLine(argv: readonly string[], columns: number): ParsedCommandLine {
  const output: string[] = [];
  const page: HelpPage = { columns, write: (text) => output.push(text) };
  const command = findCommand(argv);
  try {
    if (command) return { invocation: parseInvocation(command, argv.slice(command.words.length), page) };
    createRootProgram(page).parse(argv, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // Help and version end the reading as well.
    if (error.exitCode !== 0 && error.code !== 'commander.help') throw toUsageFailure(error, command);
  }
  return { text: output.join('') };
}

/** The help of a command, of a group of commands (`feedback`), or, without words, of the whole program. */
export function commandHelpText(words: readonly string[], columns: number): string {
  const parsed = parseCommandLine([...words, '--help'], columns);
  return 'text' in parsed ? parsed.text : '';
}

// Of commands that begin alike the one of more words: `train log` is no `train` of a file.
function findCommand(argv: readonly string[]): Command | undefined {
  const matches = allCommands.filter(({ words }) => words.every((word, at) => argv[at] === word));
  return matches.sort((left, right) => right.words.length - left.words.length)[0];
}

interface HelpPage {
  readonly columns: number;
  readonly write: (text: string) => void;
}

function parseInvocation(command: Command, words: readonly string[], page: HelpPage): Invocation {
  const program = createProgram(`svc ${command.words.join(' ')}`, page);
  program.description([`${command.summary}.`, command.about].filter(Boolean).join('\n\n'));
  if (command.argument) program.argument(argumentTerm(command.argument), command.argument.summary);
  for (const flag of command.flags) {
    for (const option of commanderOptions(flag)) program.addOption(option.helpGroup(`${flag.group}:`));
  }
  program.optionsGroup('Help:').helpOption('-h, --help', 'Show this help');
  program.configureHelp({ optionTerm: (option) => optionTerm(option, command.flags) });
  program.addHelpText('after', subcommandsText(command) + examplesText(command.examples));
  program.parse(normalizeArguments(words, command.flags), { from: 'user' });
  const flags = readFlagValues(program, command.flags);
  requireChoices(command, program.args, flags);
  return { command, args: program.args, flags };
}

function requireChoices({ argument, flags }: Command, args: readonly string[], values: FlagValues): void {
  const flagChoices = flags.map(({ name, choices }) => ({
    name: `--${name}`,
    value: getStringFlag(values, name),
    choices,
  }));
  for (const { name, value, choices } of [
    ...flagChoices,
    { name: argument?.name, value: args[0], choices: argument?.choices },
  ]) {
    if (value === undefined || choices === undefined || choices.includes(value)) continue;
    throw usageFailure(`${name} cannot be ${JSON.stringify(value)}`, `it is one of ${choices.join(', ')}`);
  }
}

function createRootProgram(page: HelpPage): Program {
  const root = createProgram('svc', page).version(versionText, '-V, --version');
  root.enablePositionalOptions().configureHelp({ formatHelp: () => rootHelp(page.columns) });
  for (const word of new Set(allCommands.map(({ words: [first = ''] }) => first))) {
    const group = createProgram(word, page);
    root.addCommand(group.description(commandGroups[word] ?? ''));
    for (const { words, summary } of allCommands) {
      if (words.length > 1 && words[0] === word) group.addCommand(createProgram(words[1] ?? '', page).summary(summary));
    }
  }
  return root;
}

function createProgram(name: string, { columns, write }: HelpPage): Program {
  return new Program(name)
    .exitOverride()
    .helpCommand(false)
    .configureOutput({ writeOut: write, writeErr: write, outputError: () => {}, getOutHelpWidth: () => columns });
}

function argumentTerm({ name, isRepeatable, isRequired }: Argument): string {
  const term = isRepeatable ? `${name}...` : name;
  return isRequired ? `<${term}>` : `[${term}]`;
}

// Commander's words, without the value a user gave to an unknown flag: it may be a secret.
function toUsageFailure({ message }: CommanderError, command: Command | undefined): Failure {
  const [first = '', second] = message.replace(/^error: /, '').split('\n');
  const plain = first.replace(/^unknown option '(--?[^=']+)=.*$/s, "unknown option '$1'").replaceAll("'", '"');
  const suggestion = /Did you mean (.*)\?/.exec(second ?? '')?.[1];
  const commandName = ['svc', ...(command?.words ?? [])].join(' ');
  return usageFailure(plain, suggestion ? `did you mean ${suggestion}?` : `${commandName} --help shows what there is`);
}
