import type { Command } from '../command.ts';
import { type Setting, settingFlagName, settings } from '../config/settings.ts';
import { type Failure, invalidValueFailure, usageFailure } from '../errors.ts';
import { closestMatches, joinWithOr } from '../fields/closest-match.ts';
import { type Fields, flagName } from '../fields/field.ts';
import { type Flag, flagForms, takesValue } from '../flag.ts';
import { flagTarget } from '../operations/operation.ts';
import { createArgumentRedactor, REDACTED, redactUserInfo } from '../output/redaction.ts';
import { shellWord } from '../output/shell-quote.ts';
import { allCommands, commandsIn } from './all-commands.ts';
import { usageTerm } from './command-tree.ts';
import { otherToolsHint, verbs } from './other-tools.ts';
import { type LineToken, type PreparedCommandLine, prepareCommandLine, takesNextWord } from './prepare-command-line.ts';
import { sharedFlags } from './shared-flags.ts';

/** The failure of a line that commander rejects with this code. Never repeats the value of an unknown flag: it may be a secret. */
export function explainMistake(code: string, line: PreparedCommandLine): Failure {
  const { command, tokens } = line;
  const last = tokens.at(-1) ?? {};
  if (code === 'commander.optionMissingArgument' && last.flag && takesNextWord(last))
    return missingValueFailure(last.form ?? '', last.flag);
  if (!command) return missingCommand(line);
  switch (code) {
    case 'commander.excessArguments':
      return tooManyArguments(command, line);
    case 'commander.missingArgument':
      return missingArgument(command);
    case 'commander.invalidArgument':
      return invalidChoice(tokens);
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
  if (unknown && words.length === 0) {
    const { form = '' } = unknown;
    if (/^--(help|version)$/.test(form)) return usageFailure(`${form} takes no value`, `write: svc ${form}`);
    const known = otherToolsHint(form);
    const [near] = closestMatches(form, sharedFlags().flatMap(flagForms));
    const owner = allCommands.find((one) => one.listedFlags.some((flag) => isNamed(flag, form)));
    const hint =
      (known && synonymHint(known)) ||
      near ||
      (owner ? `write it after the command: svc ${owner.name} ${form} ...` : 'run: svc --help');
    return usageFailure(`unknown flag "${form}"`, /^-+[\w-]+$/.test(hint) ? `did you mean ${hint}?` : hint);
  }
  const commands = new Set(commandsIn(words).flatMap(({ words: path }) => path[words.length] ?? []));
  if (commands.size === 0) return unknownCommand(words, tokens[0]?.value);
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
  for (const candidate of allCommands.filter(({ flags }) => flags.some((flag) => isNamed(flag, start)))) {
    const line = prepareCommandLine(typed, [...candidate.flags, ...sharedFlags()]);
    if (line.command !== candidate) continue;
    return usageFailure(`${start} is a flag of svc ${candidate.name} and belongs after it`, correctedLineHint(line));
  }
  return undefined;
}

/** The failure of words that name no command; `detail` is what else they could have been, and are not. */
export function unknownCommand(words: readonly string[], next = '', detail = ''): Failure {
  const group = words.slice(0, -1);
  const siblings = commandsIn(group).flatMap(({ words: path }) => path[group.length] ?? []);
  const name = ['svc', ...group].join(' ');
  const word = words.at(-1) ?? '';
  const named = siblings.filter((one) => verbs[one]?.split(' ').includes(word));
  const near = named.length > 0 ? named : closestMatches(word, siblings);
  const nested = group.length > 0 ? [] : allCommands.filter(({ words: path }) => path.length > 1);
  const nearNested = closestMatches(
    words[0] ?? '',
    nested.flatMap(({ words: path }) => path.at(-1) ?? []),
  );
  const inGroups = nested.filter(({ words: path }) => [words[0], nearNested[0]].includes(path.at(-1)));
  const meant = [...near.map((one) => `${name} ${one}`), ...inGroups.map((one) => `svc ${one.name}`)]
    .slice(0, 3)
    .map(withArgument);
  const otherwise =
    group.length > 0 ? `write one of: ${siblings.map((word) => `${name} ${word}`).join(', ')}` : `run: ${name} --help`;
  const known = otherToolsHint([...words, next].join(' ')) ?? otherToolsHint(words.join(' '));
  const prompt = group.length === 0 && /\s/.test(word) ? `write: svc chat ${shellWord(word)}` : otherwise;
  return usageFailure(
    `unknown command ${JSON.stringify(words.join(' '))}${detail}`,
    known ? synonymHint(known) : meant.length > 0 ? `did you mean: ${meant.join(', or ')}` : prompt,
  );
}

// A command with the argument that it needs.
function withArgument(words: string): string {
  const argument = allCommands.find(({ name }) => `svc ${name}` === words)?.argument;
  return argument?.isRequired ? `${words} ${usageTerm(argument)}` : words;
}

function unknownFlag(command: Command, tokens: readonly LineToken[]): Failure {
  const { name, flags } = command;
  const isUnused = ({ flag, form, value }: LineToken): boolean =>
    flag !== undefined &&
    value !== undefined &&
    !(form === `--${flag.name}` && (takesValue(flag) || flag.takes === 'optional'));
  const mistake = tokens.find((token) => isUnknownFlag(token, flags) || isUnused(token));
  const form = mistake?.form ?? tokens.find(({ value }) => value?.startsWith('-'))?.value ?? '';
  if ((mistake && isUnused(mistake)) || form === '--help')
    return usageFailure(`${form} takes no value`, `write ${form}`);
  return usageFailure(`unknown flag "${form}" for svc ${name}`, unknownFlagHint(form, command));
}

// What an unknown flag may have been: a default, a word of another tool, a setting, a misspelling, or a flag of another command.
function unknownFlagHint(form: string, { name, flags, operation }: Command): string {
  const forms = flags.filter(({ isHidden }) => !isHidden).flatMap(flagForms);
  const off = `--no-${form.slice(2)}`;
  for (const word of [`${name} ${form}`, form]) {
    if (word === form && forms.includes(off)) return `leave it out: it is the default, which ${off} turns off`;
    const known = otherToolsHint(word);
    const hint = known && synonymHint(known, flags);
    if (hint) return hint;
  }
  const stored = settings.find((one: Setting) => one.isStored && one.flag && form === `--${settingFlagName(one)}`);
  const isUsed =
    stored && (!('isProject' in stored) || (operation && Object.hasOwn(flagTarget(operation).fields, stored.name)));
  const variable = stored && 'variable' in stored ? `set ${stored.variable}, or ` : '';
  if (isUsed) return `${variable}run: svc profile set <name> ${form} ...`;
  const isLong = /^-\w[\w-]+$/.test(form) && forms.includes(`-${form}`);
  const isSynonym = otherToolsHint(form) !== undefined;
  const near = isLong
    ? [`-${form}`]
    : form.startsWith('--') && !isSynonym
      ? closestMatches(form, forms).slice(0, 2)
      : [];
  const nested = operation && nestedPath(flagTarget(operation).fields, form);
  if (nested) return `did you mean --set ${nested}:=<json>?`;
  if (near.length > 0) return `did you mean ${joinWithOr(near)}?`;
  return `${ownersHint(form)}run: svc ${name} --help`;
}

// The commands that have the flag, unless it means something else in each.
function ownersHint(form: string): string {
  const owners = allCommands.filter((one) => one.listedFlags.some((flag) => isNamed(flag, form)));
  const named = owners.slice(0, 2).map((one) => `svc ${one.name}`);
  return named.length > 0 && form !== '--all' ? `${form} is a flag of ${named.join(' and ')}; ` : '';
}

function isNamed(flag: Flag, form: string): boolean {
  return form === `-${flag.short}` || flagForms(flag).includes(form);
}

// The path of a field inside of another one: `--learning-rate` is experimental_config.learning_rate.
function nestedPath(fields: Fields, form: string): string | undefined {
  const inner = form.slice(2).replaceAll('-', '_');
  const outer = Object.entries(fields).find(
    ([, field]) => field.type === 'object' && field.fields && Object.hasOwn(field.fields, inner),
  );
  return outer && `${outer[0]}.${inner}`;
}

// A command, a flag that the command has, or a sentence; undefined for a flag that it lacks.
function synonymHint(text: string, flags?: readonly Flag[]): string | undefined {
  if (/^svc --/.test(text) || allCommands.some(({ words: [first] }) => text.startsWith(`svc ${first}`)))
    return `did you mean: ${text}`;
  const [form = ''] = text.split(' ');
  if (!form.startsWith('-') || !flags) return text;
  const flag = flags.find((one) => flagForms(one).includes(form));
  if (!flag || flag.isHidden) return undefined;
  return `did you mean ${text === form && takesValue(flag) ? `${form} ${flag.value}` : text}?`;
}

/** The failure of a flag without the value that it needs, with its form. */
export function missingValueFailure(form: string, { value, choices }: Flag): Failure {
  const listed = choices && value !== `<${choices.join('|')}>` ? ` (${joinWithOr(choices)})` : '';
  return usageFailure(`${form} needs a value`, `write: ${form} ${value}${listed}`);
}

function invalidChoice(tokens: readonly LineToken[]): Failure {
  const {
    form = '',
    flag,
    value = '',
  } = tokens.find(({ flag, value }) => value !== undefined && flag?.choices && !flag.choices.includes(value)) ?? {};
  const { choices = [], takes } = flag ?? {};
  const meant = otherToolsHint(`${form}=${value}`);
  if (meant && choices.includes(meant))
    return usageFailure(`${form} cannot be ${JSON.stringify(value)}`, `did you mean ${form} ${meant}?`);
  return invalidValueFailure(form, value, `${takes === 'optional' ? `${form} or ${form}=` : ''}${joinWithOr(choices)}`);
}

function missingArgument({ name, argument }: Command): Failure {
  const term = argument ? usageTerm(argument) : '';
  const form = argument?.choices ? `<${argument.choices.join('|')}>` : term;
  return usageFailure(`svc ${name} needs ${term}`, `write: svc ${name} ${form}`);
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

// The only commands that take several arguments take any number. What an extra word may have been is seen from its shape.
function tooManyArguments(command: Command, line: PreparedCommandLine): Failure {
  const { name, argument, flags, operation } = command;
  const isOperand = ({ form }: LineToken): boolean => form === undefined;
  const kept = line.tokens.find((token) => argument && isOperand(token));
  const extra = line.tokens.find((token) => isOperand(token) && token !== kept);
  const word = extra?.value ?? line.literal?.[argument ? 1 : 0] ?? '';
  // For a login, it may be a secret.
  const shown = name.startsWith('auth ') ? 'an argument' : `the argument ${JSON.stringify(word)}`;
  const known = otherToolsHint(`${name} ${word}`);
  if (known) return usageFailure(`svc ${name} does not take ${shown}`, synonymHint(known));
  if (extra && commandsIn(command.words).length > 1 && /^[a-z][a-z-]*$/.test(word))
    return unknownCommand([...command.words, word]);
  const used = new Set(line.tokens.map((token) => token.flag));
  const tokens = line.tokens.flatMap((token) => {
    const text = token.value ?? '';
    const setting = kept && flags.find((one) => one.name === flagName(kept.value ?? ''));
    // `svc profile set base_url https://...` names no profile.
    if (setting && token === kept) return [{ value: 'default' }];
    if (setting && token === extra) return [{ value: text, flag: setting, form: '', start: `--${setting.name}` }];
    if (!isOperand(token) || token === kept) return [token];
    const [, assigned = '', value = ''] = /^([\w-]+):?=(.*)$/s.exec(text) ?? [];
    const names = [
      flagName(assigned),
      ...(assigned ? ['set'] : wordShapes.flatMap(([shape, flagOfShape]) => (shape.test(text) ? [flagOfShape] : []))),
    ];
    const flag = names.flatMap((one) => flags.find((own) => own.name === one && takesValue(own)) ?? [])[0];
    if (!flag || (used.has(flag) && flag.takes !== 'values')) return [];
    used.add(flag);
    const given = flag.name === flagName(assigned) ? value : text.replace(operation?.path ?? '', '');
    const start = flag.short ? `-${flag.short}` : `--${flag.name}`;
    return [{ value: given, flag, form: `--${flag.name}`, start }];
  });
  const literal = argument && !kept ? line.literal?.slice(0, 1) : undefined;
  const { literal: _, ...rest } = line;
  return usageFailure(
    `svc ${name} does not take ${shown}`,
    name === 'auth login'
      ? 'write --token-stdin, or --username <name> --password-stdin'
      : correctedLineHint({ ...rest, tokens, ...(literal && { literal }) }),
  );
}

// The flags that words of these shapes are likely meant for.
const wordShapes: readonly (readonly [shape: RegExp, flag: string])[] = [
  [/^https?:\/\//i, 'base-url'],
  [/^\d{2,5}$/, 'port'],
  [/^\d{1,4}$/, 'limit'],
  [/^\d+[dhms]$/, 'since'],
  [/^(?:json|jsonl|yaml|table|text)$/, 'format'],
  [/\.(?:jsonl|ndjson)$/i, 'batch'],
  [/\.(?:csv|tsv)$/i, 'rows'],
  [/\.(?:json|ya?ml)$/i, 'file'],
  [/^[\w.-]+\/[\w.-]+$/, 'project-id'],
];

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
