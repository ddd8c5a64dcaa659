import { type Argument, type Command, usageTerm } from '../command.ts';
import { type Failure, usageFailure } from '../errors.ts';
import { closestMatches, joinWithOr } from '../fields/closest-match.ts';
import { flagName } from '../fields/field.ts';
import { type Flag, flagForms, takesValue } from '../flag.ts';
import { flagTarget } from '../operations/operation.ts';
import { createArgumentRedactor, REDACTED, redactUserInfo } from '../output/redaction.ts';
import { shellWord } from '../output/shell-quote.ts';
import { allCommands, commandsIn, sharedFlags } from './all-commands.ts';
import { isToolName, nouns, otherToolsHint, sameVerbs, toolOf, verbs } from './other-tools.ts';
import { type LineToken, type PreparedCommandLine, prepareCommandLine, takesNextWord } from './prepare-command-line.ts';
import { argumentForm, isNamed, ownSpelling, rejectedChoice, synonymHint, unknownFlagHint } from './unknown-flag.ts';

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
      return command.argument ? missingArgument(command.name, command.argument, line) : unknownFlag(command, tokens);
    case 'commander.invalidArgument':
      return invalidChoice(command, tokens);
    case 'commander.conflictingOption':
      return conflictingFlags(tokens);
    default:
      return unknownFlag(command, tokens);
  }
}

function isOperand({ form }: LineToken): boolean {
  return form === undefined;
}

// A line without a command, or with a flag before it that belongs after it.
function missingCommand({ typed, words, tokens }: PreparedCommandLine): Failure {
  const unknown = tokens.find(({ form, flag }) => form !== undefined && !flag);
  const misplaced = unknown && misplacedFlag(typed, unknown);
  if (misplaced) return misplaced;
  if (unknown && words.length === 0) {
    const { form = '' } = unknown;
    if (/^--(help|version)$/.test(form)) return usageFailure(`${form} takes no value`, `write: svc ${form}`);
    const own = ownSpelling(form);
    const owner = allCommands.find((one) => one.listedFlags.some((flag) => isNamed(flag, own)));
    const ofChat = owner ? undefined : otherToolsHint(`chat ${form}`);
    const meant = commandsIn(['chat'])[0]?.flags.find((flag) => flagForms(flag).includes(ofChat ?? ''));
    const value = meant && takesValue(meant) ? ` ${meant.value}` : '';
    const known = meant ? `svc chat ${ofChat}${value}` : (ofChat ?? otherToolsHint(form));
    const [near] = closestMatches(form, sharedFlags().flatMap(flagForms));
    const hint =
      (known && synonymHint(known)) ||
      (near && `did you mean ${near}?`) ||
      (owner ? `write it after the command: svc ${owner.name} ${own} ...` : 'run: svc --help');
    return usageFailure(`unknown flag "${form}"`, hint);
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
  const kin = group.length > 0 ? sameVerbs(word) : [];
  const near = [
    named,
    closestMatches(word, siblings),
    siblings.filter((one) => kin.some((verb) => verb === one || verbs[one]?.split(' ').includes(verb))),
  ].find((found) => found.length > 0);
  const nested = group.length > 0 ? [] : allCommands.filter(({ words: path }) => path.length > 1);
  const [nearNested = word] = closestMatches(
    word,
    nested.flatMap(({ words: path }) => path.at(-1) ?? []),
  );
  const inGroups = nested.filter(({ words: path }) => [word, nearNested].includes(path.at(-1) ?? ''));
  const meant = [...(near ?? []).map((one) => `${name} ${one}`), ...inGroups.map((one) => `svc ${one.name}`)]
    .slice(0, 3)
    .map(withArgument);
  const otherwise =
    word === 'help'
      ? `run: ${name} --help`
      : group.length > 0
        ? `write one of: ${siblings.map((one) => withArgument(`${name} ${one}`)).join(', ')}`
        : 'run: svc --help';
  return usageFailure(
    `unknown command ${JSON.stringify(words.join(' '))}${detail}`,
    knownWord(words, next) ??
      (meant.length > 0 ? `did you mean: ${meant.join(', or ')}` : (unlistedWord(word, group) ?? otherwise)),
  );
}

// What the words mean in another tool; the name of a tool may come first.
function knownWord(words: readonly string[], next: string): string | undefined {
  const all = words.join(' ');
  if (isToolName(all)) {
    if (isToolName(next)) return `leave out ${JSON.stringify(`${all} ${next}`)}; run: svc --help`;
    const meant = commandsIn([next]).length > 0 ? `svc ${next}` : (otherToolsHint(next) ?? 'svc --help');
    return `leave out ${JSON.stringify(all)}: ${meant}`;
  }
  if (/^(?:get|post|put|patch|delete)$/i.test(all) && /[/:]/.test(next)) return unlistedWord(next, []);
  // `log tail`: a word that means a command of the group.
  const own = words.length > 1 ? otherToolsHint(words.at(-1) ?? '') : undefined;
  const both =
    otherToolsHint(`${all} ${next}`) ??
    (words.length > 1 ? otherToolsHint(all) : undefined) ??
    (words.length > 1 ? otherToolsHint(`${words[0]} --${words.at(-1)}`) : undefined) ??
    (own?.startsWith(`svc ${words[0]}`) && !own.includes(', ') ? own : nounAndVerb(words, next));
  const flags = commandsIn(words.slice(0, -1)).find(({ words: path }) => path.length === words.length - 1)?.flags;
  if (both) return synonymHint(both, flags);
  const spellings = [all, all.toLowerCase(), all.toUpperCase(), `${all}s`, all.replace(/s$/, '')];
  const known = spellings.flatMap((one) => otherToolsHint(one) ?? [])[0];
  if (known) return synonymHint(known);
  const tool = words.length === 1 ? toolOf(all) : undefined;
  return tool && `svc has nothing like ${all} of ${tool}; run: svc --help`;
}

// `config get`, `get profiles`, `list-jobs`, `train create-training-job`: the words name a group and, in another one, a command of it.
function nounAndVerb(words: readonly string[], next: string): string | undefined {
  const parts = [...words, ...(/^[a-z][\w-]*$/i.test(next) ? [next] : [])].flatMap((word) =>
    word.toLowerCase().split(/[-_.]/),
  );
  if (parts.length < 2) return undefined;
  const noun = parts.find((part) => nounOf(part));
  const group = noun && nounOf(noun);
  if (!group) return undefined;
  const isPlural = noun.endsWith('s') && noun !== 'settings';
  for (const part of parts.filter((one) => one !== noun).reverse()) {
    const verb = part === 'get' && isPlural ? 'list' : part;
    const known = otherToolsHint(`${group} ${verb}`);
    if (known) return known;
    const found = commandsIn([group]).find(({ words: path }) => {
      const last = path.at(-1) ?? '';
      return last === verb || verbs[last]?.split(' ').includes(verb);
    });
    if (found) return withArgument(`svc ${found.name}`);
    // `train view`: what the table has for another word of the same deed.
    const kin = sameVerbs(verb).flatMap((one) => otherToolsHint(`${group} ${one}`) ?? [])[0];
    if (kin) return kin;
  }
  return undefined;
}

function nounOf(word: string): string | undefined {
  return Object.keys(nouns).find((group) => nouns[group]?.split(' ').includes(word.replace(/s$/, '')));
}

// What a word is that no tool has for a command: a file, the path or the URL of an operation, a prompt.
function unlistedWord(word: string, group: readonly string[]): string | undefined {
  const ofShape =
    /^[\w.-]+$/.test(word) && otherToolsHint([...group, isFileName(word) ? '<file>' : '<name>'].join(' '));
  if (ofShape) return synonymHint(ofShape);
  if (group.length > 0) return undefined;
  if (/\s/.test(word)) return `write: svc chat ${shellWord(word)}`;
  const isHost = /^(?:[\w-]+(?:\.[\w-]+)*)?:\d+|^[\w-]+(?:\.[\w-]+)+\//.test(word);
  const scheme = /^(?:localhost|127\.|:)/.test(word) ? 'http' : 'https';
  const url = isHost ? `${scheme}://${word.replace(/^(?=:)/, '127.0.0.1')}` : word;
  const [, origin, path = ''] = /^(https?:\/\/[^/?#]+)?(.*)$/i.exec(url) ?? [];
  const steps = path.split(/[^\w-]+/).filter((step) => !/^(?:v\d+|create|)$/.test(step));
  const [first = ''] = steps;
  const served = allCommands.find(({ operation }) => steps.length > 0 && operation?.path.includes(steps.join('/')));
  if (origin) return `did you mean: svc ${served?.name ?? 'chat'} --base-url ${redactUserInfo(origin)}`;
  if (served) return `did you mean: svc ${served.name}`;
  if (first === word) return undefined;
  const known = commandsIn([first]).length > 0 ? `svc ${first}` : otherToolsHint(first);
  return known && synonymHint(known);
}

function isFileName(word: string): boolean {
  return /\.(?:jsonl?|ndjson|ya?ml|csv|tsv)$/i.test(word);
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
  // What is joined to a short flag may be a secret, as in `-uname:password`.
  const shown = /^-\w(?=.*\W)/s.exec(form)?.[0] ?? form;
  return usageFailure(
    `unknown flag "${form.startsWith('--') ? form : shown}" for svc ${name}`,
    unknownFlagHint(form, command),
  );
}

/** The failure of a flag without the value that it needs, with its form. */
function missingValueFailure(form: string, { value, choices }: Flag): Failure {
  const listed = choices && value !== `<${choices.join('|')}>` ? ` (${joinWithOr(choices)})` : '';
  return usageFailure(`${form} needs a value`, `write: ${form} ${value}${listed}`);
}

function invalidChoice(command: Command, tokens: readonly LineToken[]): Failure {
  const isInvalid = ({ value, flag }: LineToken): boolean =>
    value !== undefined && flag?.choices !== undefined && !flag.choices.includes(value);
  const { form = '', flag, value = '' } = tokens.find(isInvalid) ?? {};
  const bare = flag?.takes === 'optional' ? `${form} or ${form}=` : '';
  return rejectedChoice(command, form, value, flag?.choices ?? [], bare);
}

function missingArgument(name: string, argument: Argument, line: PreparedCommandLine): Failure {
  const own = `svc ${name}`;
  const known = line.tokens.length === 0 ? otherToolsHint(name) : undefined;
  const form = correctedLineHint(line).replace(own, `${own} ${argumentForm(argument)}`);
  return usageFailure(`${own} needs ${usageTerm(argument)}`, known?.startsWith(`${own} `) ? `write: ${known}` : form);
}

function conflictingFlags(tokens: readonly LineToken[]): Failure {
  const forms = tokens.map(({ form }) => form);
  const [found] = tokens.flatMap(({ flag, form }) => {
    const other = flag?.conflicts?.find((one) => forms.includes(`--${one}`));
    return form && other ? { form, other, hint: flag?.instead?.[other] } : [];
  });
  return usageFailure(`${found?.form} cannot be combined with --${found?.other}`, found?.hint ?? 'remove one of them');
}

function isUnknownFlag({ form, flag }: LineToken, flags: readonly Flag[]): boolean {
  return form !== undefined && !flags.some(({ name }) => name === flag?.name);
}

// The only commands that take several arguments take any number. What an extra word may have been is seen from its shape.
function tooManyArguments(command: Command, line: PreparedCommandLine): Failure {
  const { name, argument } = command;
  const kept = line.tokens.find((token) => argument && isOperand(token));
  const extra = line.tokens.find((token) => isOperand(token) && token !== kept);
  const word = extra?.value ?? line.literal?.[argument ? 1 : 0] ?? '';
  // For a login, it may be a secret.
  const shown = name.startsWith('auth ') ? 'an argument' : `the argument ${JSON.stringify(word)}`;
  const before = extra && line.tokens[line.tokens.indexOf(extra) - 1];
  if (before?.flag?.name === 'set' && before.value && !before.value.includes('='))
    return usageFailure(`--set ${before.value} has no =`, `write --set ${shellWord(`${before.value}:=${word}`)}`);
  if (word === 'help') return usageFailure(`svc ${name} does not take ${shown}`, `run: svc ${name} --help`);
  if (name === 'profile set' && /^(?:token|password|secret|(?:api|access)[-_]?key)$/i.test(word))
    return usageFailure(
      `svc profile set stores no ${word}`,
      `run: svc auth login --profile ${shellWord(kept?.value ?? '<name>')} ${word === 'password' ? '--username <name> --password-stdin' : '--token-stdin'}`,
    );
  const known = otherToolsHint(`${name} ${word}`);
  if (known) return usageFailure(`svc ${name} does not take ${shown}`, synonymHint(known));
  const isFlag = command.flags.some((one) => one.name === word);
  if (extra && !isFlag && commandsIn(command.words).length > 1 && /^[a-z][a-z-]*$/.test(word))
    return unknownCommand([...command.words, word]);
  const tokens = readWordsAsFlags(command, line.tokens, kept);
  if (kept && argument?.isFile && isFileName(word))
    return usageFailure(`svc ${name} takes one file`, `run it for each file: svc ${name} ${shellWord(word)}`);
  const literal = argument && !kept ? line.literal?.slice(0, 1) : undefined;
  const { literal: _, ...rest } = line;
  return usageFailure(
    `svc ${name} does not take ${shown}`,
    name === 'auth login'
      ? `write ${/^https?:\/\//i.test(word) ? '--base-url <url>, ' : /^[a-z]{1,12}$/.test(word) ? '--profile <name>, ' : ''}--token-stdin, or --username <name> --password-stdin`
      : name.startsWith('auth ')
        ? `write: svc ${name} --profile <name>`
        : correctedLineHint({ ...rest, tokens, ...(literal && { literal }) }),
  );
}

// The words behind the argument as the flags that they are likely meant for; a word that fits none is left out.
function readWordsAsFlags({ flags, operation }: Command, tokens: readonly LineToken[], kept?: LineToken): LineToken[] {
  const used = new Set(tokens.map((token) => token.flag));
  const namedBy = (token: LineToken = { form: '' }): Flag | undefined =>
    flags.find((one) => isOperand(token) && takesValue(one) && one.name === flagName(token.value ?? ''));
  return tokens.flatMap((token, at) => {
    const text = token.value ?? '';
    const [before, after] = [tokens[at - 1], tokens[at + 1]];
    const named = isOperand(token) ? namedBy(before) : undefined;
    // `svc profile set base_url https://...` names no profile.
    const first = before === kept ? [{ value: 'default' }] : [];
    if (named) return [...first, { value: text, flag: named, form: '', start: `--${named.name}` }];
    if (namedBy(token) && after && isOperand(after)) return [];
    if (!isOperand(token) || token === kept) return [token];
    const [, typed = '', value = ''] = /^([\w-][\w.[\]-]*):?=(.*)$/s.exec(text) ?? [];
    // `payload[score]=1` of HTTPie.
    const assigned = typed.replace(/\[(\w*[a-z_]\w*)\]/gi, '.$1');
    const path = operation && /\W/.test(assigned) ? [...flagTarget(operation).path, assigned].join('.') : assigned;
    const isFieldList = tokens[tokens.indexOf(token) - 1]?.form === '--json';
    const names = [
      flagName(assigned),
      ...(isFieldList ? ['jq'] : []),
      ...(assigned ? ['set'] : wordShapes.flatMap(([shape, flagOfShape]) => (shape.test(text) ? [flagOfShape] : []))),
    ];
    const flag = names.flatMap((one) => flags.find((own) => own.name === one && takesValue(own)) ?? [])[0];
    // `svc doctor probe`.
    const bare = flags.find((own) => !takesValue(own) && own.name === flagName(text));
    if (!flag && bare && !used.has(bare)) return [{ flag: bare, form: `--${bare.name}`, start: `--${bare.name}` }];
    if (!flag || (used.has(flag) && flag.takes !== 'values')) return [];
    used.add(flag);
    const given =
      flag.name === flagName(assigned)
        ? value
        : flagValueOf(flag, text.replace(operation?.path ?? '', '').replace(typed, path));
    const start = flag.short ? `-${flag.short}` : `--${flag.name}`;
    return [{ value: given, flag, form: `--${flag.name}`, start }];
  });
}

// `id,model` after --json are fields, and of 127.0.0.1:8080 a flag takes the port or a URL.
function flagValueOf({ name }: Flag, text: string): string {
  if (name === 'jq') return `.[] | {${text}}`;
  if (name === 'port') return text.replace(/^.*:/, '');
  return name === 'base-url' && !text.includes('://') ? `http://${text}` : text;
}

// The flags that words of these shapes are likely meant for.
const wordShapes: readonly (readonly [shape: RegExp, flag: string])[] = [
  [/^:?[\w.-]*:\d{2,5}$/, 'port'],
  [/^[\w.-]+:\d{2,5}$/, 'base-url'],
  [/^https?:\/\//i, 'base-url'],
  [/^\d{2,5}$/, 'port'],
  [/^\d{1,4}$/, 'limit'],
  [/^\d+[dhms]$/, 'since'],
  [/^\d+[dhmsw]$/, 'older-than'],
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

/** A token as it was typed, with this value. */
export function typedWords({ start = '' }: LineToken, value: string | undefined): string[] {
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
