import type { Command } from '../command.ts';
import { type Setting, settingFlagName, settings } from '../config/settings.ts';
import { type Failure, invalidValueFailure, usageFailure } from '../errors.ts';
import { closestMatch, joinWithOr } from '../fields/closest-match.ts';
import { flagName } from '../fields/field.ts';
import { type Flag, flagForms } from '../flag.ts';
import { createArgumentRedactor, REDACTED, redactUserInfo } from '../output/redaction.ts';
import { shellWord } from '../output/shell-quote.ts';
import { allCommands, commandsIn } from './all-commands.ts';
import { type CommandLine, type LineToken, readFlagValues, splitCommandLine } from './command-line.ts';
import { flagChoices, usageTerm } from './parse-command-line.ts';
import { sharedFlags } from './shared-flags.ts';

// Commands and flags of other tools, and what svc has instead.
const otherTools = new Map([
  ['login', 'did you mean: svc auth login'],
  ['init', 'did you mean: svc auth login'],
  ['config', 'did you mean: svc profile show, or svc profile set'],
  ['version', 'did you mean: svc --version'],
  ['models', 'svc does not list models; give one with -m, or set SVC_MODEL'],
  ['list', 'did you mean: svc log, svc train log, or svc profile list'],
  ['status', 'did you mean: svc auth status, or svc doctor'],
  ['ask', 'did you mean: svc chat'],
  ['jobs', 'did you mean: svc train log'],
  ['-k', 'svc always verifies certificates; to trust another CA, write --cacert <file>'],
  ['--insecure', 'svc always verifies certificates; to trust another CA, write --cacert <file>'],
  ['-d', 'write: -f <file>, or -f - for stdin'],
  ['--data', 'write: -f <file>, or -f - for stdin'],
  ['--url', 'did you mean --base-url?'],
  ['--debug', 'did you mean --verbose?'],
]);

const BODY_FILE = /\.(json|ya?ml)$/i;

/** The failure of a line without a command, or with a flag before it that belongs after it. */
export function missingCommand({ words, tokens }: CommandLine, argv: readonly string[]): Failure {
  const unknown = tokens.find(({ flag }) => !flag);
  const misplaced = unknown && misplacedFlag(argv, unknown);
  if (misplaced) return misplaced;
  if (unknown && words.length === 0) return usageFailure(`unknown flag "${unknown.form}"`, 'run: svc --help');
  const commands = new Set(commandsIn(words).flatMap(({ words: path }) => path[words.length] ?? []));
  if (commands.size === 0) return unknownCommand(words);
  const name = ['svc', ...words].join(' ');
  return usageFailure(`${name} needs a command: ${joinWithOr([...commands])}`, `run: ${name} --help`);
}

/** The failure of a line that commander rejects with this code. Never repeats the value of an unknown flag: it may be a secret. */
export function explainMistake(code: string, command: Command, line: CommandLine): Failure {
  switch (code) {
    case 'commander.unknownOption':
      return unknownFlag(command, line.tokens.find((token) => isUnknownFlag(token, command.flags))?.form ?? '');
    case 'commander.excessArguments':
      return tooManyArguments(command, line);
    case 'commander.missingArgument':
      return missingArgument(command);
    case 'commander.conflictingOption':
      return conflictingFlags(line.tokens);
    default:
      return illegalChoice(command, line);
  }
}

/** The failure of a line whose first operand is the command of another program, or the value of the flag before it. */
export function missingSeparator(line: CommandLine): Failure {
  const { words, tokens, operands } = line;
  const flags = tokens.filter(({ form }) => form !== undefined);
  const { flag, form, value } = flags.at(-1) ?? {};
  if (flag?.takes === 'optional' && value === undefined && operands.includes('--')) {
    const typed = flags.slice(0, -1).flatMap((token) => typedWords(token, token.value));
    const fixed = splitCommandLine([...words, ...typed, `${form}=${operands[0]}`, ...operands.slice(1)]);
    return usageFailure(`${form} takes a value only after =`, correctedLineHint(fixed));
  }
  return usageFailure(
    `svc ${words.join(' ')} takes its command only after --`,
    correctedLineHint({ ...line, tokens: flags, literal: operands }),
  );
}

function misplacedFlag(argv: readonly string[], { start = '' }: LineToken): Failure | undefined {
  const isNamed = (flag: Flag): boolean => start === `-${flag.short}` || flagForms(flag).includes(start);
  for (const candidate of allCommands.filter(({ flags }) => flags.some(isNamed))) {
    const line = splitCommandLine(argv, [...candidate.flags, ...sharedFlags()]);
    if (line.command !== candidate) continue;
    return usageFailure(`${start} is a flag of svc ${candidate.name} and belongs after it`, correctedLineHint(line));
  }
  return undefined;
}

function unknownCommand(words: readonly string[]): Failure {
  const group = words.slice(0, -1);
  const siblings = commandsIn(group).flatMap(({ words: path }) => path[group.length] ?? []);
  const suggestion = closestMatch(words.at(-1) ?? '', siblings);
  const name = ['svc', ...group].join(' ');
  return usageFailure(
    `unknown command ${JSON.stringify(words.join(' '))}`,
    (group.length === 0 && otherTools.get(words[0] ?? '')) ||
      (suggestion ? `did you mean: ${name} ${suggestion}` : `run: ${name} --help`),
  );
}

function unknownFlag({ name, flags }: Command, form: string): Failure {
  const longForms = flags.map((flag) => `--${flag.name}`);
  const suggestion = form.startsWith('--') ? closestMatch(form, longForms) : undefined;
  const stored = settings.find((one: Setting) => one.isStored && one.flag && form === `--${settingFlagName(one)}`);
  const variable = stored && 'variable' in stored ? `set ${stored.variable}, or ` : '';
  const profileHint = stored && `${variable}run: svc profile set <name> ${form} ...`;
  return usageFailure(
    `unknown flag "${form}" for svc ${name}`,
    profileHint ?? otherTools.get(form) ?? (suggestion ? `did you mean ${suggestion}?` : `run: svc ${name} --help`),
  );
}

function missingArgument({ name, argument }: Command): Failure {
  const term = argument ? usageTerm(argument) : '';
  const choices = argument?.choices ? `; use ${joinWithOr(argument.choices)}` : '';
  return usageFailure(`svc ${name} needs ${term}`, `write: svc ${name} ${term}${choices}`);
}

function conflictingFlags(tokens: readonly LineToken[]): Failure {
  const forms = tokens.map(({ form }) => form);
  const [form, other] = tokens.flatMap(({ flag, form }) => {
    const other = flag?.conflicts?.find((one) => forms.includes(`--${one}`));
    return form && other ? [form, other] : [];
  });
  return usageFailure(`${form} cannot be combined with --${other}`, 'remove one of them');
}

function illegalChoice({ argument, flags }: Command, { tokens, operands: [operand = ''] }: CommandLine): Failure {
  const values = readFlagValues(tokens, flags);
  for (const { flag, form, value } of tokens) {
    const choices = flag && flagChoices(flag, values);
    if (value === undefined || !choices || choices.includes(value)) continue;
    const use = flag.takes === 'optional' ? `${form} or ${form}=` : '';
    return invalidValueFailure(form ?? '', value, `${use}${joinWithOr(choices)}`);
  }
  return invalidValueFailure(argument?.name ?? '', operand, joinWithOr(argument?.choices ?? []));
}

function isUnknownFlag({ form, flag }: LineToken, flags: readonly Flag[]): boolean {
  return form !== undefined && !flags.some(({ name }) => name === flag?.name);
}

// The only commands that take several arguments take any number. The first file is taken for the body, whose flag is missing.
function tooManyArguments({ name, argument, flags }: Command, line: CommandLine): Failure {
  const bodyFlag = flags.find((flag) => flag.name === 'file' && !line.tokens.some((token) => token.flag === flag));
  const isOperand = ({ form }: LineToken): boolean => form === undefined;
  const kept = line.tokens.find((token) => argument && isOperand(token));
  const body = line.tokens.find((token) => isOperand(token) && token !== kept && BODY_FILE.test(token.value ?? ''));
  const tokens = line.tokens.flatMap((token) => {
    if (!isOperand(token) || token === kept) return [token];
    return token === body && bodyFlag ? [{ ...token, flag: bodyFlag, form: '--file', start: '-f' }] : [];
  });
  const literal = argument && !kept ? line.literal?.slice(0, 1) : undefined;
  return usageFailure(`too many arguments for svc ${name}`, correctedLineHint({ ...line, tokens, literal }));
}

// The corrected command line in the syntax of a shell, with its secrets redacted; help if an unknown flag may be followed by one.
function correctedLineHint({ words, command, tokens, literal }: CommandLine): string {
  const flags = command?.flags ?? [];
  if (tokens.some((token) => isUnknownFlag(token, flags))) return `run: svc ${words.join(' ')} --help`;
  const redacted = tokens.flatMap((token) => typedWords(token, redactValue(token, flags)));
  const rest = literal ? createArgumentRedactor({}, []).redactArguments(['--', ...literal]) : [];
  return `write: ${['svc', ...words, ...redacted, ...rest].map(shellWord).join(' ')}`;
}

function typedWords({ start = '' }: LineToken, value: string | undefined): string[] {
  if (value === undefined) return [start];
  return start.endsWith('=') ? [start + value] : start === '' ? [value] : [start, value];
}

function redactValue({ flag, value }: LineToken, flags: readonly Flag[]): string | undefined {
  if (!flag || value === undefined) return value;
  if (flag.isSecret) return value === 'random' || value.startsWith('@') ? value : REDACTED;
  if (flag.name === 'header') return value.includes(':') ? `${value.split(':')[0]}: ${REDACTED}` : REDACTED;
  if (flag.value?.includes('url')) return redactUserInfo(value);
  const field = flag.name === 'set' ? /\w+/.exec(value)?.[0] : undefined;
  const isSecretField = field !== undefined && flags.some(({ name, isSecret }) => isSecret && name === flagName(field));
  return isSecretField ? `${field}=${REDACTED}` : value;
}
