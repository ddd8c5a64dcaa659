import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { CommanderError, InvalidArgumentError, Option, Command as Program } from 'commander';
import type { RequestOptions } from '../batch/batch-flags.ts';
import { argumentTerm, type Command, type ReadOptions, usageTerm } from '../command.ts';
import { settings } from '../config/settings.ts';
import { Failure, invalidValueFailure, usageFailure } from '../errors.ts';
import { joinWithOr } from '../fields/closest-match.ts';
import { flagName } from '../fields/field.ts';
import { type Flag, flagForms, flagTerm, optionKey, takesValue } from '../flag.ts';
import { requestedFormat, requestResultKind, resultKinds } from '../output/output-format.ts';
import { allCommands, commandGroups, commandsIn, sharedFlags } from './all-commands.ts';
import type { PreparedCommandLine } from './prepare-command-line.ts';

/** What commander read: the chosen command, its arguments and its options. */
export interface ReadLine {
  readonly command: Command;
  readonly args: readonly string[];
  readonly readOptions: ReadOptions;
}

type Run = (line: ReadLine) => Promise<void>;

/** Reads a command line and calls `run`; `cwd` is where the files of the line are. Throws Failure `usage` for every mistake in it. */
export async function runCommandLine(line: PreparedCommandLine, cwd: string, run: Run): Promise<void> {
  if (line.mistake) throw line.mistake;
  const body = line.typed.some((word) => /\{.*\}\s*$|^(?:-\w)?@/s.test(word))
    ? (await import('./typed-body.ts')).typedBodyFailure(line)
    : undefined;
  if (body) throw body;
  const mistakes = () => import('./command-mistakes.ts');
  const tree = commandTree(
    async (read) => {
      if (!line.literal && line.tokens.some(({ form }) => form === undefined))
        (await import('./unintended-words.ts')).rejectUnintendedWord(line, cwd);
      const rejected = rejectFormat(read);
      if (rejected) throw (await import('./unknown-flag.ts')).rejectedChoice(...rejected);
      const [word = ''] = read.args;
      if (isUnknownSubcommand(read, word, cwd))
        throw (await import('./unknown-command.ts')).unknownCommand(
          line,
          [...read.command.words, word],
          `, and no file has the name ${word}`,
        );
      if (read.command.argument?.usage && !line.literal && read.args.length > 0)
        throw (await mistakes()).missingSeparator(line, read.args);
      await run(read);
    },
    line.command && line.words.every((word, at) => word === line.argv[at]) ? [] : sharedFlags(),
    // After `--`, a word is no command: `svc train -- log` sends the file log.
    line.literal && line.command ? [line.command] : allCommands,
  );
  try {
    await tree.parseAsync(line.argv, { from: 'user' });
  } catch (error) {
    if (error instanceof Failure && error.facts.isStdinEmpty && line.command?.operation?.arguments?.as === 'prompt')
      throw (await import('./unintended-words.ts')).namePromptInFlag(line, error);
    // The message of commander repeats what was typed, secrets too.
    if (!(error instanceof CommanderError)) throw error;
    throw (await mistakes()).explainMistake(error.code, line);
  }
}

/**
 * All commands as a tree of commander, whose actions call `run`. A command gets its flags and its argument when a command
 * line or help chooses it, which keeps the start fast. The flags in `leading` may come before the command.
 */
export function commandTree(run: Run = async () => {}, leading: readonly Flag[] = [], listed = allCommands): Program {
  const commands = new Map<Program, Command>();
  const ignore = (): void => {};
  const root = new Program('svc')
    .usage('<command> [flags]')
    .exitOverride()
    .enablePositionalOptions()
    .helpCommand(false)
    .helpOption(false)
    .configureOutput({ writeOut: ignore, writeErr: ignore, outputError: ignore });
  const choose = (parent: Program, program: Program): void => {
    const command = commands.get(program);
    if (command) defineCommand(program, command);
    else for (const flag of leading) addFlag(program, asShared(flag));
    passOn(parent, program);
  };
  for (const flag of leading) addFlag(root, asShared(flag));
  for (const command of listed) {
    const program = command.words.reduce(
      (parent, word) =>
        parent.commands.find((child) => child.name() === word) ??
        parent
          .command(word)
          .summary(commandGroups[word] ?? '')
          .usage('<command> [flags]'),
      root,
    );
    commands.set(program, command);
    program
      .summary(command.summary)
      .helpGroup(command.group)
      .usage(`[flags]${command.argument ? ` ${usageTerm(command.argument)}` : ''}`)
      .action(() => run({ command, args: program.args, readOptions: () => mergeForms(program, command).opts() }));
  }
  for (const program of [root, ...root.commands]) program.hook('preSubcommand', choose);
  return root;
}

/** Gives a command of the tree its flags and its argument. */
export function defineCommand(program: Program, command: Command): void {
  const { argument, flags } = command;
  if (argument?.usage) program.passThroughOptions();
  for (const flag of flags) addFlag(program, flag, command);
  if (!argument) return;
  const registered = program.createArgument(argumentTerm(argument), argument.summary);
  // Commander collects the words of a repeatable argument itself.
  if (argument.choices || argument.isFile)
    registered.argParser((word: string, previous: unknown) => {
      if (argument.choices && !argument.choices.includes(word))
        throw invalidValueFailure(argument.name, word, joinWithOr(argument.choices));
      if (word === '') throw usageFailure(`an argument of svc ${command.name} is empty`, 'name a file');
      return argument.isRepeatable ? [...(Array.isArray(previous) ? previous : []), word] : word;
    });
  program.addArgument(registered);
}

// The flags before a command are as those after it, but what it accepts is not known yet.
function asShared({ name, short, takes, value, hasOff, summary, group }: Flag): Flag {
  const form = { name, takes, summary, group, ...(short && { short }), ...(value && { value }) };
  return hasOff ? { ...form, hasOff } : form;
}

// The flags before a word of a command are those of the command: of a scalar the last one counts, others are collected.
function passOn(parent: Program, program: Program): void {
  for (const option of parent.options) {
    const given: unknown = parent.getOptionValue(option.attributeName());
    if (given === undefined) continue;
    const own = program.options.find((one) => one.long === option.long);
    if (!own) program.error('', { code: 'commander.unknownOption' });
    const key = own.attributeName();
    for (const value of Array.isArray(given) ? given : [given])
      program.setOptionValueWithSource(
        key,
        typeof value === 'string' && own.parseArg ? own.parseArg(value, program.getOptionValue(key)) : value,
        'cli',
      );
  }
}

// `--x` and `--no-x` are two options, because they conflict with different flags. The last one counts.
function addFlag(program: Program, flag: Flag, command?: Command): void {
  const [first, ...others] = flagForms(flag).map((form) => {
    const isOn = form === `--${flag.name}`;
    const value = !isOn ? '' : takesValue(flag) ? ' <value>' : flag.takes === 'optional' ? ' [value]' : '';
    const option = new Option(`${isOn && flag.short ? `-${flag.short}, ` : ''}${form}${value}`, flag.summary);
    // A negated option would have the key of the other one, and a default.
    option.negate = false;
    if (value !== '') option.argParser((text, previous) => parseValue(text, previous, flag, form, command));
    return option.hideHelp();
  });
  if (!first) return;
  first
    .conflicts((flag.conflicts ?? []).map(optionKey))
    .helpGroup(flag.group)
    .hideHelp(flag.isHidden === true);
  first.flags = flagTerm(flag);
  const options = [first, ...others];
  for (const option of options) {
    program.addOption(option);
    for (const other of options)
      if (other !== option)
        program.on(`option:${option.name()}`, () => program.setOptionValue(other.attributeName(), undefined));
  }
}

function parseValue(text: string, previous: unknown, flag: Flag, form: string, command: Command | undefined): unknown {
  const { name, takes, value, choices } = flag;
  if (flag.isOnce && previous !== undefined)
    throw usageFailure(`${form} was given twice: ${previous} and ${text}`, 'give it once');
  if (takes === 'optional' && text === '') return true;
  // Without its value, a flag such as `--base-url "$URL"` would give way to the environment. In a profile it removes the setting.
  if (text === '' && command && command.name !== 'profile set' && (value?.startsWith('<file') || isSetting(name)))
    throw usageFailure(`${form} is empty`, `give it a value, or leave out ${form}`);
  // Which formats a result has depends on other flags.
  if (choices && !choices.includes(text) && !(name === 'format' && isFormat(text))) throw new InvalidArgumentError('');
  if (takes === 'values') return [...(Array.isArray(previous) ? previous : []), text];
  return name === 'output' && text === '/dev/stdout' ? '-' : text;
}

function isFormat(text: string): boolean {
  return Object.values(resultKinds).some(({ formats }) => formats.some((one) => one === text));
}

function isSetting(flag: string): boolean {
  return settings.some((one) => 'flag' in one && one.flag !== 'profiles' && flagName(one.name) === flag);
}

// Of a flag with two forms, `--no-x` is false.
function mergeForms(program: Program, { flags }: Command): Program {
  for (const { name, takes } of flags)
    if (takes === 'boolean' && program.getOptionValue(optionKey(`no-${name}`)))
      program.setOptionValue(optionKey(name), false);
  return program;
}

// Returns a format that the result of these options does not have.
function rejectFormat({ command, readOptions }: ReadLine) {
  const { result } = command;
  const options: Partial<RequestOptions> = readOptions();
  if (result === undefined) return undefined;
  const kind = requestResultKind(result, options);
  const { format } = options;
  const formats: readonly string[] = resultKinds[kind].formats;
  // A table of results is made by another command.
  const owner = (kind === 'lines' && commandsIn(['batch', 'merge'])[0]) || command;
  if (format !== undefined && !formats.includes(format)) return [owner, '--format', format, formats] as const;
  requestedFormat(kind, options);
  // `-o json` selects a format in other tools, and `-o temperature 0.5` sets an option.
  const { output } = options;
  if (output === undefined) return undefined;
  const isField = Object.hasOwn(command.operation?.body ?? {}, output);
  const flag = isField ? command.flags.find((one) => takesValue(one) && one.name === flagName(output)) : undefined;
  const isFormatName = resultKinds[result].formats.some((one) => one === output);
  const isFilter = /^(?:jsonpath|go-template|custom-columns)(?:-file)?=/.test(output);
  const meant = isFilter
    ? 'filter, write --jq <filter>'
    : isFormatName
      ? `format, write --format ${output}`
      : flag && `field, write --${flag.name} ${flag.value}`;
  if (!meant) return undefined;
  throw usageFailure(`-o ${output} would write a file of that name`, `for the ${meant}; for the file, -o ./${output}`);
}

// `svc train lst` would take lst as a file. A bare word that names none is meant as a command.
function isUnknownSubcommand({ command: { words, argument } }: ReadLine, word: string, cwd: string): boolean {
  if (commandsIn(words).length === 1 || !argument?.isFile) return false;
  return /^[a-z][a-z-]*$/i.test(word) && !existsSync(resolve(cwd, word));
}
