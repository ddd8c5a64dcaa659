import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { CommanderError, Option, Command as Program } from 'commander';
import type { Argument, Command, Invocation } from '../command.ts';
import { type Setting, settingFlagName, settings } from '../config/settings.ts';
import { type Failure, usageFailure } from '../errors.ts';
import { closestMatch, joinWithOr } from '../fields/closest-match.ts';
import { flagName } from '../fields/field.ts';
import { type Flag, type FlagValues, flagForms, getStringFlag } from '../flag.ts';
import { allCommands, commandsIn } from './all-commands.ts';
import { splitAtCommand } from './command-words.ts';
import { indexOfOperand, normalizeArguments } from './normalize-arguments.ts';

/** A parsed command line: a command to run, or text to print. */
export type ParsedCommandLine =
  | { readonly invocation: Invocation }
  | { readonly help: HelpRequest }
  | { readonly isVersion: true };

/** Asks for the help of a command, of a group (`feedback`), or, without words, of svc. */
export interface HelpRequest {
  readonly words: readonly string[];
  readonly isFull: boolean;
}

/** Parses a command line; `cwd` is where its files are. Throws Failure `usage` for every mistake in it. */
export async function parseCommandLine(argv: readonly string[], cwd: string): Promise<ParsedCommandLine> {
  const { words, command, rest, asksFor } = await splitAtCommand(argv);
  if (asksFor === '--version') return { isVersion: true };
  if (asksFor)
    return { help: { words: [...words, ...(await commandAfterHelp(words, rest))], isFull: asksFor === '--help' } };
  if (!command) {
    const isGroup = commandsIn(words).length > 0;
    return isGroup && rest.length === 0 ? { help: { words, isFull: true } } : rejectCommand(words, rest, isGroup);
  }
  // Another command's flags would be read as those of svc.
  const operandAt = command.argument?.usage ? indexOfOperand(rest, command.flags) : -1;
  if (operandAt >= 0) throw (await import('./corrected-line.ts')).missingSeparator(command, rest, operandAt);
  const normalized = normalizeArguments(rest, command);
  if (normalized.help) return { help: { words, isFull: normalized.help === '--help' } };
  const invocation = await parseInvocation(command, normalized.words, rest);
  rejectUnknownInnerCommand(invocation, cwd);
  return { invocation };
}

// `svc train lst` would take lst as a file. A bare word that names none is meant as a command.
function rejectUnknownInnerCommand({ command, args: [word = ''] }: Invocation, cwd: string): void {
  const inner = command.argument?.isFile ? innerCommands(command) : [];
  if (inner.length === 0 || !/^[a-z][a-z-]*$/i.test(word) || existsSync(resolve(cwd, word))) return;
  throw usageFailure(
    `unknown command ${JSON.stringify(`${command.name} ${word}`)}, and no file has the name ${word}`,
    `did you mean: ${inner.map(({ name }) => `svc ${name}`).join(', or ')}`,
  );
}

function innerCommands(command: Command): Command[] {
  return commandsIn(command.words).filter((one) => one !== command);
}

// `svc --help chat` means `svc chat --help`.
async function commandAfterHelp(words: readonly string[], rest: readonly string[]): Promise<readonly string[]> {
  const found = await splitAtCommand([...words, ...rest.filter((word) => !word.startsWith('-'))]);
  return found.words.slice(words.length);
}

function rejectCommand(words: readonly string[], rest: readonly string[], isGroup: boolean): never {
  const group = words.slice(0, -1);
  const flag = rest.find((word) => word.startsWith('-'))?.split('=')[0];
  const last = words.at(-1);
  const siblings = commandsIn(group).flatMap(({ words: path }) => path[group.length] ?? []);
  const name = ['svc', ...(isGroup ? words : group)].join(' ');
  if (isGroup || last === undefined)
    throw usageFailure(`${name} needs a command before ${flag ?? rest[0]}`, `run: ${name} --help`);
  const suggestion = closestMatch(last, siblings);
  throw usageFailure(
    `unknown command ${JSON.stringify([...group, last].join(' '))}`,
    suggestion ? `did you mean: ${name} ${suggestion}` : `run: ${name} --help`,
  );
}

// The tree has every command. Only the chosen one gets flags and an action, which keeps the start fast.
async function parseInvocation(
  command: Command,
  words: readonly string[],
  typed: readonly string[],
): Promise<Invocation> {
  const root = createProgram('svc');
  let invocation: Invocation | undefined;
  // `lint` and `log` are commands only as the first word after `train`.
  const inner = innerCommands(command);
  for (const one of allCommands.filter((any) => !inner.includes(any))) {
    const program = one.words.reduce(
      (parent, word) => parent.commands.find((child) => child.name() === word) ?? parent.command(word),
      root,
    );
    program.action(() => {});
    if (one !== command) continue;
    if (command.argument) program.argument(argumentTerm(command.argument));
    for (const option of command.flags.flatMap(commanderOptions)) program.addOption(option);
    program.action(() => {
      invocation = { command, args: program.args, flags: readFlagValues(program, command.flags) };
    });
  }
  try {
    root.parse([...command.words, ...words], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.code !== 'commander.excessArguments') throw toUsageFailure(error, command);
    throw (await import('./corrected-line.ts')).tooManyArguments(command, typed);
  }
  if (!invocation) throw usageFailure(`cannot parse the arguments of svc ${command.name}`);
  requireChoices(command, invocation);
  rejectEmptyValues(command, invocation);
  rejectContradictions(command.flags, invocation.flags);
  return invocation;
}

function createProgram(name: string): Program {
  const ignore = (): void => {};
  return new Program(name)
    .exitOverride()
    .helpCommand(false)
    .helpOption(false)
    .configureOutput({ writeOut: ignore, writeErr: ignore, outputError: ignore });
}

/** An argument as usage lines show it: `<name>`, `[files...]`, `-- <command> [args...]`. */
export function usageTerm(argument: Argument): string {
  return argument.usage ?? argumentTerm(argument);
}

function argumentTerm({ name, isRepeatable, isRequired }: Argument): string {
  const term = isRepeatable ? `${name}...` : name;
  return isRequired ? `<${term}>` : `[${term}]`;
}

function requireChoices({ argument, flags }: Command, { args, flags: values }: Invocation): void {
  const flagChoices = flags.map(({ name, choices, choicesBeside, takes }) => ({
    name: `--${name}`,
    value: getStringFlag(values, name),
    choices: choicesBeside?.(values) ?? choices,
    hasOptionalValue: takes === 'optional',
  }));
  for (const { name, value, choices, hasOptionalValue } of [
    ...flagChoices,
    { name: argument?.name, value: args[0], choices: argument?.choices, hasOptionalValue: false },
  ]) {
    if (value === undefined || choices === undefined || choices.includes(value)) continue;
    throw usageFailure(
      `${name} cannot be ${JSON.stringify(value)}`,
      hasOptionalValue ? `use ${name} or ${name}=${joinWithOr(choices)}` : `use ${joinWithOr(choices)}`,
    );
  }
}

// Without its value, a flag such as `--base-url "$URL"` would give way to the environment. In a profile it removes the setting.
function rejectEmptyValues({ name: command, argument, flags }: Command, { args, flags: values }: Invocation): void {
  const isSetting = (flag: string): boolean =>
    settings.some((one) => 'flag' in one && one.flag !== 'profiles' && flagName(one.name) === flag);
  for (const { name, value } of command === 'profile set' ? [] : flags)
    if ([values.get(name)].flat().includes('') && (value?.startsWith('<file') || isSetting(name)))
      throw usageFailure(`--${name} is empty`, `give it a value, or leave out --${name}`);
  if (argument?.isFile && args.includes(''))
    throw usageFailure(`an argument of svc ${command} is empty`, 'name a file');
}

function rejectContradictions(flags: readonly Flag[], values: FlagValues): void {
  const isGiven = (form: string): boolean =>
    form.startsWith('no-') ? values.get(form.slice(3)) === false : values.has(form) && values.get(form) !== false;
  for (const { name, conflicts = [] } of flags) {
    const other = isGiven(name) ? conflicts.find(isGiven) : undefined;
    if (other) throw usageFailure(`--${name} cannot be combined with --${other}`, 'remove one of them');
  }
}

// Never repeats the value of an unknown flag: it may be a secret.
function toUsageFailure({ code, message }: CommanderError, command: Command): Failure {
  const name = `svc ${command.name}`;
  const flag = /'(?:-\w, )?(--?[^'=]+)/.exec(message)?.[1] ?? '';
  const hint = `run: ${name} --help`;
  if (code === 'commander.unknownOption') {
    const longFlags = command.flags.map((one) => `--${one.name}`);
    const suggestion = flag.startsWith('--') ? closestMatch(flag, longFlags) : undefined;
    const stored = settings.find((one: Setting) => one.isStored && one.flag && flag === `--${settingFlagName(one)}`);
    const variable = stored && 'variable' in stored ? `set ${stored.variable}, or ` : '';
    const profileHint = stored && `${variable}run: svc profile set <name> ${flag} ...`;
    const next = profileHint ?? (suggestion ? `did you mean ${suggestion}?` : hint);
    return usageFailure(`unknown flag "${flag}" for ${name}`, next);
  }
  if (code === 'commander.optionMissingArgument') return usageFailure(`${flag.split(' ')[0]} needs a value`, hint);
  const { argument } = command;
  if (code === 'commander.missingArgument') {
    const term = argument ? usageTerm(argument) : '';
    const choices = argument?.choices ? `; use ${joinWithOr(argument.choices)}` : '';
    return usageFailure(`${name} needs ${term}`, `write: ${name} ${term}${choices}`);
  }
  return usageFailure(
    message
      .replace(/^error: /, '')
      .split('\n')[0]
      ?.replaceAll("'", '"') ?? message,
    hint,
  );
}

/** The commander options of a flag: two for a boolean, `--x` and `--no-x`. */
function commanderOptions(flag: Flag): Option[] {
  const [form = '', ...more] = flagForms(flag);
  const on = flag.short ? `-${flag.short}, ${form}` : form;
  switch (flag.takes) {
    case 'switch':
    case 'off':
    case 'boolean':
      return [on, ...more].map((one) => new Option(one));
    case 'optional':
      return [new Option(`${on} [value]`)];
    case 'value': {
      const option = new Option(`${on} ${flag.value}`);
      return [flag.isOnce ? option.argParser(onlyValue(flag)) : option, ...more.map((one) => new Option(one))];
    }
    case 'values':
      // A collector: a variadic option would take the arguments after it.
      return [new Option(`${on} ${flag.value}`).argParser(appendValue)];
  }
}

/** The values of the flags given on the command line, without commander's defaults. */
function readFlagValues(program: Program, flags: readonly Flag[]): FlagValues {
  const values = new Map<string, boolean | string | readonly string[]>();
  for (const flag of flags) {
    const attribute = new Option(`--${flag.name}`).attributeName();
    if (program.getOptionValueSource(attribute) !== 'cli') continue;
    const value = program.getOptionValue(attribute);
    const isStdout = flag.name === 'output' && value === '/dev/stdout';
    values.set(flag.name, isStdout ? '-' : flag.takes === 'optional' && value === '' ? true : value);
  }
  return values;
}

function onlyValue({ name }: Flag): (value: string, before: string | undefined) => string {
  return (value, before) => {
    if (before === undefined) return value;
    throw usageFailure(`--${name} was given twice: ${before} and ${value}`, 'give it once');
  };
}

function appendValue(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value];
}
