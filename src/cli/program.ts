import { CommanderError, Command as Program } from 'commander';
import { type Failure, usage } from '../errors.ts';
import { type FlagValues, textOf } from '../fields/flag.ts';
import { readableArguments } from './arguments.ts';
import type { Argument, Command, Invocation } from './command.ts';
import { commands, groups } from './commands.ts';
import { examplesText, innerCommandsText } from './help.ts';
import { optionsOf, optionTerm, valuesOf } from './options.ts';
import { rootHelp, versionText } from './root.ts';

/** A command line that was understood: something to run, or text that was asked for. */
export type Parsed = { readonly run: Invocation } | { readonly text: string };

/**
 * Reads a command line. Each command has its own flags and the root only help and version, so no flag is taken by the
 * wrong command. Throws usage for whatever is wrong with it. `columns` is the width of help.
 */
export function parseCommandLine(argv: readonly string[], columns: number): Parsed {
  const output: string[] = [];
  const page: Page = { columns, write: (text) => output.push(text) };
  const command = commandOf(argv);
  try {
    if (command) return { run: readInvocation(command, argv.slice(command.words.length), page) };
    rootProgram(page).parse(argv, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // Help and version end the reading as well.
    if (error.exitCode !== 0 && error.code !== 'commander.help') throw explained(error, command);
  }
  return { text: output.join('') };
}

/** The help of a command, of a group of commands (`feedback`), or, without words, of the whole program. */
export function helpText(words: readonly string[], columns: number): string {
  const parsed = parseCommandLine([...words, '--help'], columns);
  return 'text' in parsed ? parsed.text : '';
}

// Of commands that begin alike the one of more words: `train log` is no `train` of a file.
function commandOf(argv: readonly string[]): Command | undefined {
  const fitting = commands.filter(({ words }) => words.every((word, at) => argv[at] === word));
  return fitting.sort((left, right) => right.words.length - left.words.length)[0];
}

interface Page {
  readonly columns: number;
  readonly write: (text: string) => void;
}

function readInvocation(command: Command, words: readonly string[], page: Page): Invocation {
  const program = emptyProgram(`svc ${command.words.join(' ')}`, page);
  program.description([`${command.summary}.`, command.about].filter(Boolean).join('\n\n'));
  if (command.argument) program.argument(argumentTerm(command.argument), command.argument.summary);
  for (const flag of command.flags) {
    for (const option of optionsOf(flag)) program.addOption(option.helpGroup(`${flag.group}:`));
  }
  program.optionsGroup('Help:').helpOption('-h, --help', 'Show this help');
  program.configureHelp({ optionTerm: (option) => optionTerm(option, command.flags) });
  program.addHelpText('after', innerCommandsText(command) + examplesText(command.examples));
  program.parse(readableArguments(words, command.flags), { from: 'user' });
  const flags = valuesOf(program, command.flags);
  requireChoices(command, program.args, flags);
  return { command, args: program.args, flags };
}

function requireChoices({ argument, flags }: Command, args: readonly string[], values: FlagValues): void {
  const given = flags.map(({ name, choices }) => ({ name: `--${name}`, value: textOf(values, name), choices }));
  for (const { name, value, choices } of [
    ...given,
    { name: argument?.name, value: args[0], choices: argument?.choices },
  ]) {
    if (value === undefined || choices === undefined || choices.includes(value)) continue;
    throw usage(`${name} cannot be ${JSON.stringify(value)}`, `it is one of ${choices.join(', ')}`);
  }
}

function rootProgram(page: Page): Program {
  const root = emptyProgram('svc', page).version(versionText, '-V, --version');
  root.enablePositionalOptions().configureHelp({ formatHelp: () => rootHelp(page.columns) });
  for (const word of new Set(commands.map(({ words: [first = ''] }) => first))) {
    const group = emptyProgram(word, page);
    root.addCommand(group.description(groups[word] ?? ''));
    for (const { words, summary } of commands) {
      if (words.length > 1 && words[0] === word) group.addCommand(emptyProgram(words[1] ?? '', page).summary(summary));
    }
  }
  return root;
}

function emptyProgram(name: string, { columns, write }: Page): Program {
  return new Program(name)
    .exitOverride()
    .helpCommand(false)
    .configureOutput({ writeOut: write, writeErr: write, outputError: () => {}, getOutHelpWidth: () => columns });
}

function argumentTerm({ name, many, required }: Argument): string {
  const term = many ? `${name}...` : name;
  return required ? `<${term}>` : `[${term}]`;
}

// Commander's words, without the value a user gave to an unknown flag: it may be a secret.
function explained({ message }: CommanderError, command: Command | undefined): Failure {
  const [first = '', second] = message.replace(/^error: /, '').split('\n');
  const plain = first.replace(/^unknown option '(--?[^=']+)=.*$/s, "unknown option '$1'").replaceAll("'", '"');
  const suggestion = /Did you mean (.*)\?/.exec(second ?? '')?.[1];
  const where = ['svc', ...(command?.words ?? [])].join(' ');
  return usage(plain, suggestion ? `did you mean ${suggestion}?` : `${where} --help shows what there is`);
}
