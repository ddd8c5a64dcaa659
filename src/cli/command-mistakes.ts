import type { Command } from '../command.ts';
import { type Setting, settingFlagName, settings } from '../config/settings.ts';
import { type Failure, usageFailure } from '../errors.ts';
import { closestMatch, joinWithOr } from '../fields/closest-match.ts';
import { flagName } from '../fields/field.ts';
import { type Flag, flagForms, takesValue } from '../flag.ts';
import { createArgumentRedactor, REDACTED, redactUserInfo } from '../output/redaction.ts';
import { shellWord } from '../output/shell-quote.ts';
import { allCommands, commandsIn } from './all-commands.ts';
import { usageTerm } from './command-tree.ts';
import { type LineToken, type PreparedCommandLine, prepareCommandLine, takesNextWord } from './prepare-command-line.ts';
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

/** The failure of a line that commander rejects with this code. Never repeats the value of an unknown flag: it may be a secret. */
export function explainMistake(code: string, line: PreparedCommandLine): Failure {
  const { command, tokens } = line;
  const last = tokens.at(-1) ?? {};
  if (code === 'commander.optionMissingArgument' && takesNextWord(last))
    return usageFailure(`${last.form} needs a value`, `run: ${['svc', ...(command?.words ?? [])].join(' ')} --help`);
  if (!command) return missingCommand(line);
  switch (code) {
    case 'commander.excessArguments':
      return tooManyArguments(command, line);
    case 'commander.missingArgument':
      return missingArgument(command);
    case 'commander.conflictingOption':
      return conflictingFlags(tokens);
    default:
      return unknownFlag(command, tokens);
  }
}

// A line without a command, or with a flag before it that belongs after it.
function missingCommand({ typed, words, tokens }: PreparedCommandLine): Failure {
  const unknown = tokens.find(({ form, flag }) => form !== undefined && !flag);
  const misplaced = unknown && misplacedFlag(typed, unknown);
  if (misplaced) return misplaced;
  if (unknown && words.length === 0) return usageFailure(`unknown flag "${unknown.form}"`, 'run: svc --help');
  const commands = new Set(commandsIn(words).flatMap(({ words: path }) => path[words.length] ?? []));
  if (commands.size === 0) return unknownCommand(words);
  const name = ['svc', ...words].join(' ');
  return usageFailure(`${name} needs a command: ${joinWithOr([...commands])}`, `run: ${name} --help`);
}

/** The failure of a line whose first operand is the command of another program, or the value of the flag before it. */
export function missingSeparator(line: PreparedCommandLine, operands: readonly string[]): Failure {
  const { words, tokens } = line;
  const flags = tokens.filter(({ form }) => form !== undefined);
  const { flag, form, value } = flags.at(-1) ?? {};
  if (flag?.takes === 'optional' && value === undefined && operands.includes('--')) {
    const typed = flags.slice(0, -1).flatMap((token) => typedWords(token, token.value));
    const fixed = prepareCommandLine([...words, ...typed, `${form}=${operands[0]}`, ...operands.slice(1)]);
    return usageFailure(`${form} takes a value only after =`, correctedLineHint(fixed));
  }
  return usageFailure(
    `svc ${words.join(' ')} takes its command only after --`,
    correctedLineHint({ ...line, tokens: flags, literal: operands }),
  );
}

function misplacedFlag(typed: readonly string[], { start = '' }: LineToken): Failure | undefined {
  const isNamed = (flag: Flag): boolean => start === `-${flag.short}` || flagForms(flag).includes(start);
  for (const candidate of allCommands.filter(({ flags }) => flags.some(isNamed))) {
    const line = prepareCommandLine(typed, [...candidate.flags, ...sharedFlags()]);
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

function unknownFlag({ name, flags }: Command, tokens: readonly LineToken[]): Failure {
  const isUnused = ({ flag, form, value }: LineToken): boolean =>
    flag !== undefined &&
    value !== undefined &&
    !(form === `--${flag.name}` && (takesValue(flag) || flag.takes === 'optional'));
  const mistake = tokens.find((token) => isUnknownFlag(token, flags) || isUnused(token));
  const form = mistake?.form ?? tokens.find(({ value }) => value?.startsWith('-'))?.value ?? '';
  if (mistake && isUnused(mistake)) return usageFailure(`${form} takes no value`, `write ${form}`);
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

function isUnknownFlag({ form, flag }: LineToken, flags: readonly Flag[]): boolean {
  return form !== undefined && !flags.some(({ name }) => name === flag?.name);
}

// The only commands that take several arguments take any number. The first file is taken for the body, whose flag is missing.
function tooManyArguments({ name, argument, flags }: Command, line: PreparedCommandLine): Failure {
  const bodyFlag = flags.find((flag) => flag.name === 'file' && !line.tokens.some((token) => token.flag === flag));
  const isOperand = ({ form }: LineToken): boolean => form === undefined;
  const kept = line.tokens.find((token) => argument && isOperand(token));
  const body = line.tokens.find((token) => isOperand(token) && token !== kept && BODY_FILE.test(token.value ?? ''));
  const tokens = line.tokens.flatMap((token) => {
    if (!isOperand(token) || token === kept) return [token];
    return token === body && bodyFlag ? [{ ...token, flag: bodyFlag, form: '--file', start: '-f' }] : [];
  });
  const literal = argument && !kept ? line.literal?.slice(0, 1) : undefined;
  const { literal: _, ...rest } = line;
  return usageFailure(
    `too many arguments for svc ${name}`,
    correctedLineHint({ ...rest, tokens, ...(literal && { literal }) }),
  );
}

// The corrected command line in the syntax of a shell, with its secrets redacted; help if an unknown flag may be followed by one.
function correctedLineHint({ words, command, tokens, literal }: PreparedCommandLine): string {
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
