import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { CommanderError, Option, Command as Program } from 'commander';
import type { Argument, Command, Invocation } from '../command.ts';
import { settings } from '../config/settings.ts';
import { usageFailure } from '../errors.ts';
import { flagName } from '../fields/field.ts';
import { type Flag, type FlagValues, flagForms, flagTerm, getStringFlag, takesValue } from '../flag.ts';
import { commandGroups, commandsIn } from './all-commands.ts';
import { readFlagValues, splitCommandLine } from './command-line.ts';

export interface HelpRequest {
  readonly words: readonly string[];
  readonly isFull: boolean;
}

/** The command to run, or the text to print; `cwd` is where the files of the line are. Throws Failure `usage` for every mistake in it. */
export async function parseCommandLine(
  argv: readonly string[],
  cwd: string,
): Promise<{ readonly invocation: Invocation } | { readonly help: HelpRequest } | { readonly isVersion: true }> {
  const line = splitCommandLine(argv);
  const { words, command, tokens, literal, operands, asksFor } = line;
  if (asksFor === '--version') return { isVersion: true };
  const asksForHelp = asksFor !== undefined || (!command && tokens.length === 0);
  if (asksForHelp && commandsIn(words).length > 0) return { help: { words, isFull: asksFor !== '-h' } };
  const mistakes = () => import('./command-mistakes.ts');
  if (!command) throw (await mistakes()).missingCommand(line, argv);
  const flags = readFlagValues(tokens, command.flags);
  try {
    // In a form that commander cannot misread.
    const plain = tokens.flatMap(({ form, value }) => (form ? [value === undefined ? form : `${form}=${value}`] : []));
    commandTree([command], command, flags).parse([...words, ...plain, '--', ...operands], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    throw (await mistakes()).explainMistake(error.code, command, line);
  }
  const invocation = { command, args: operands, flags };
  rejectEmptyValues(invocation);
  rejectFormatAsFile(invocation);
  rejectUnknownSubcommand(invocation, cwd);
  if (command.argument?.usage && !literal && operands.length > 0) throw (await mistakes()).missingSeparator(line);
  return { invocation };
}

/**
 * Commands as a tree of commander. Only `chosen` gets its flags and its argument, which keeps the start fast; `values`
 * are the flags given, on which legal values can depend.
 */
export function commandTree(commands: readonly Command[], chosen?: Command, values: FlagValues = new Map()): Program {
  const ignore = (): void => {};
  const root = new Program('svc')
    .usage('<command> [flags]')
    .exitOverride()
    .helpCommand(false)
    .helpOption(false)
    .configureOutput({ writeOut: ignore, writeErr: ignore, outputError: ignore });
  for (const command of commands) {
    const { words, summary, group, argument } = command;
    const program = words.reduce(
      (parent, word) =>
        parent.commands.find((child) => child.name() === word) ??
        parent
          .command(word)
          .summary(commandGroups[word] ?? '')
          .usage('<command> [flags]'),
      root,
    );
    program
      .summary(summary)
      .helpGroup(group)
      .usage(`[flags]${argument ? ` ${usageTerm(argument)}` : ''}`);
    if (command !== chosen) continue;
    program.action(ignore);
    if (argument) {
      const registered = program.createArgument(argumentTerm(argument), argument.summary);
      if (argument.choices) registered.choices(argument.choices);
      program.addArgument(registered);
    }
    for (const option of command.flags.flatMap((flag) => commanderOptions(flag, values))) program.addOption(option);
  }
  return root;
}

// `--x` and `--no-x` conflict with different flags.
class FlagOption extends Option {
  override attributeName(): string {
    return this.name();
  }
}

function commanderOptions(flag: Flag, values: FlagValues): Option[] {
  return flagForms(flag).map((form, at) => {
    if (at > 0) return new FlagOption(form).hideHelp();
    const value = takesValue(flag) ? ' <value>' : flag.takes === 'optional' ? ' [value]' : '';
    const option = new FlagOption(`${form}${value}`, flag.summary)
      .conflicts([...(flag.conflicts ?? [])])
      .helpGroup(flag.group)
      .hideHelp(flag.isHidden === true);
    const choices = flagChoices(flag, values);
    if (choices) option.choices(choices);
    option.flags = flagTerm(flag);
    return option;
  });
}

export function flagChoices({ choices, choicesBeside }: Flag, values: FlagValues): readonly string[] | undefined {
  return choicesBeside?.(values) ?? choices;
}

/** An argument as usage lines show it: `<name>`, `[files...]`, `-- <command> [args...]`. */
export function usageTerm(argument: Argument): string {
  return argument.usage ?? argumentTerm(argument);
}

function argumentTerm({ name, isRepeatable, isRequired }: Argument): string {
  const term = isRepeatable ? `${name}...` : name;
  return isRequired ? `<${term}>` : `[${term}]`;
}

// Without its value, a flag such as `--base-url "$URL"` would give way to the environment. In a profile it removes the setting.
function rejectEmptyValues({ command: { name: command, argument, flags }, args, flags: values }: Invocation): void {
  const isSetting = (flag: string): boolean =>
    settings.some((one) => 'flag' in one && one.flag !== 'profiles' && flagName(one.name) === flag);
  for (const { name, value } of command === 'profile set' ? [] : flags)
    if ([values.get(name)].flat().includes('') && (value?.startsWith('<file') || isSetting(name)))
      throw usageFailure(`--${name} is empty`, `give it a value, or leave out --${name}`);
  if (argument?.isFile && args.includes(''))
    throw usageFailure(`an argument of svc ${command} is empty`, 'name a file');
}

// `-o json` selects a format in other tools.
function rejectFormatAsFile({ command, flags }: Invocation): void {
  const output = getStringFlag(flags, 'output');
  const format = command.flags.find(({ name }) => name === 'format');
  if (output === undefined || !format?.choices?.includes(output)) return;
  throw usageFailure(
    `-o ${output} would write a file of that name`,
    `for the format, write --format ${output}; for the file, -o ./${output}`,
  );
}

// `svc train lst` would take lst as a file. A bare word that names none is meant as a command.
function rejectUnknownSubcommand({ command, args: [word = ''] }: Invocation, cwd: string): void {
  const inner = commandsIn(command.words).filter((one) => one !== command);
  const isFile = !command.argument?.isFile || !/^[a-z][a-z-]*$/i.test(word) || existsSync(resolve(cwd, word));
  if (inner.length === 0 || isFile) return;
  throw usageFailure(
    `unknown command ${JSON.stringify(`${command.name} ${word}`)}, and no file has the name ${word}`,
    `did you mean: ${inner.map(({ name }) => `svc ${name}`).join(', or ')}`,
  );
}
