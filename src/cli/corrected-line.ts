import { isBodyFile } from '../body/body-flags.ts';
import type { Command } from '../command.ts';
import { flagName } from '../fields/field.ts';
import { type Flag, takesValue } from '../flag.ts';
import { flagTarget } from '../operations/operation.ts';
import { createArgumentRedactor, REDACTED, redactUserInfo } from '../output/redaction.ts';
import { shellWord } from '../output/shell-quote.ts';
import { commandsIn } from './all-commands.ts';
import { type LineToken, type PreparedCommandLine, prepareCommandLine, takesNextWord } from './prepare-command-line.ts';

const PLACEHOLDER = /^"?<[^<>]+>"?$/;

/** A name of a secret, as people write it beside the names of settings. */
export const SECRET_NAME = /^(?:token|password|secret|(?:api|access)[-_]?key)$/i;

// A longer line hides the suggestion in what was typed.
const MAX_COMPLETED_CHARS = 200;

/** A suggested command, `svc profile use <name>`, with the words and flags that were typed beside it; as it is if they do not fit. */
export function completeSuggestion(suggestion: string, rest: readonly string[]): string {
  const template = suggestion.split(' ').slice(1);
  if (rest.length === 0 || template.some((word) => /[,"'{]/.test(word) && !PLACEHOLDER.test(word))) return suggestion;
  const line = prepareCommandLine(fillTemplate(template, rest));
  const { command, mistake, tokens, literal: separated, asksFor } = line;
  const last = tokens.at(-1);
  if (!command || mistake || asksFor || tokens.some((token) => isUnknownFlag(token, command.flags))) return suggestion;
  if (last && takesNextWord(last)) return suggestion;
  const { argument, flags } = command;
  const operands = tokens.filter(isOperand).flatMap(({ value = '' }) => value);
  // A number in place of a limit may be an id.
  if (!argument && operands.some((word) => /^\d+$/.test(word)) && flags.some(({ name }) => name === 'limit'))
    return suggestion;
  const isProgram = argument?.usage !== undefined && !separated && operands.length > 0;
  const literal = isProgram ? operands : separated;
  const hasRoom = argument?.isRepeatable === true || operands.length + (literal?.length ?? 0) <= (argument ? 1 : 0);
  const kept = isProgram
    ? tokens.filter((token) => !isOperand(token))
    : hasRoom
      ? tokens
      : readWordsAsFlags(command, tokens, argument && tokens.find(isOperand));
  const isRead =
    hasRoom || operands.every((word) => kept.some(({ value, flag }) => value === word || flag?.name === word));
  const text = lineText({ ...line, tokens: kept, ...(literal && { literal }) });
  return isRead && text.length <= MAX_COMPLETED_CHARS ? text : suggestion;
}

// The leading words of the rest stand for the placeholders of a template, or name a setting: `svc config set model gpt-4`.
function fillTemplate(template: readonly string[], rest: readonly string[]): string[] {
  const [first = '', ...more] = rest;
  const { command } = prepareCommandLine(template);
  // `svc config get model` names no profile.
  if (command?.name === 'profile show' && settingNamed(first)) return [...template];
  if (command?.name === 'profile set') {
    if (SECRET_NAME.test(first))
      return [
        'auth',
        'login',
        ...(/^password$/i.test(first) ? ['--username', '<name>', '--password-stdin'] : ['--token-stdin']),
      ];
    const [name = '', value] = first.split(/=(.*)/s);
    const setting = settingNamed(name);
    if (setting && template.at(-1)?.endsWith('=')) return ['profile', 'set', 'default', `--${setting.name}=`];
    if (setting) return ['profile', 'set', 'default', `--${setting.name}`, ...(value ? [value] : more)];
  }
  // `svc files upload x.jsonl`
  const isWord = (word: string): boolean => command?.argument?.isFile === true && /^[a-z]+$/.test(word);
  const left = rest.slice(rest.filter((_, at) => rest.slice(0, at + 1).every(isWord)).length);
  const filled = template.map((word, at) => {
    const [next = '-'] = left;
    const fits =
      PLACEHOLDER.test(word) && word !== '<input>' && !/^-/.test(next) && !rest.includes(template[at - 1] ?? '');
    const sign = word === '<url>' ? '://' : word === '<entity/project>' ? '/' : '';
    return fits && next.includes(sign) ? (left.shift() ?? word) : word;
  });
  // The flags that were typed take the place of those without a value.
  const isOpen = (at: number): boolean =>
    (filled[at]?.startsWith('-') ?? false) && PLACEHOLDER.test(filled[at + 1] ?? '');
  const hasFlags = rest.some((word) => word.startsWith('-') && word !== '-');
  return [...filled.filter((_, at) => !hasFlags || !(isOpen(at) || isOpen(at - 1))), ...left];
}

/** The flag of `svc profile set` with this name, or with the name as a part of its own: `project`, `base_url`, `url`. */
export function settingNamed(word: string): Flag | undefined {
  const name = flagName(word).toLowerCase();
  const flags =
    commandsIn(['profile', 'set'])[0]?.flags.filter((flag) => takesValue(flag) && flag.group === 'Common') ?? [];
  const isPart = (flag: Flag): boolean => flag.name.startsWith(`${name}-`) || flag.name.endsWith(`-${name}`);
  return flags.find((flag) => flag.name === name) ?? (name === '' ? undefined : flags.find(isPart));
}

/** True for a word that is no flag, nor the value of one. */
export function isOperand({ form }: LineToken): boolean {
  return form === undefined;
}

/** True for a flag that is none of these. */
export function isUnknownFlag({ form, flag }: LineToken, flags: readonly Flag[]): boolean {
  return form !== undefined && !flags.some(({ name }) => name === flag?.name);
}

/** The words behind the argument as the flags that they are likely meant for; a word that fits none is left out. */
export function readWordsAsFlags(
  { flags, operation }: Command,
  tokens: readonly LineToken[],
  kept?: LineToken,
): LineToken[] {
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
const wordShapes: readonly (readonly [shape: Pick<RegExp, 'test'>, flag: string])[] = [
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
  [{ test: isBodyFile }, 'file'],
  [/^[\w.-]+\/[\w.-]+$/, 'project-id'],
];

/** The next step of a corrected command line, which begins with a verb; help if an unknown flag may be followed by a secret. */
export function correctedLineHint(line: PreparedCommandLine, verb = 'write'): string {
  const { words, command, tokens } = line;
  const hasUnknown = tokens.some((token) => isUnknownFlag(token, command?.flags ?? []));
  return hasUnknown ? `run: svc ${words.join(' ')} --help` : `${verb}: ${lineText(line)}`;
}

// The flags that decide which service gets a request.
const DESTINATION = /^(?:local|base-url|profile)$/;

/** A hint whose commands go to the service of the typed line: `svc train -f x.json` for a line with `--local` gets it, too. */
export function keepDestination(hint: string, { command, tokens }: PreparedCommandLine): string {
  const typed = tokens.filter(({ flag }) => flag && DESTINATION.test(flag.name));
  if (typed.length === 0 || /--(?:local|base-url|profile)\b/.test(hint)) return hint;
  const flags = typed.flatMap((token) => typedWords(token, redactValue(token, command?.flags ?? [])));
  const added = flags.map(shellWord).join(' ');
  return hint.replace(/(?<=(?:: |[|] |&& )svc )[a-z]+(?: [a-z]+)?(?! --help)(?![\w-])/g, (words) => {
    const found = [words, words.replace(/ .*/, '')].flatMap((name) =>
      commandsIn(name.split(' ')).filter((one) => one.name === name),
    )[0];
    // Others only read or store settings.
    const hasService = found?.flags.some(({ name }) => name === 'local');
    return hasService ? `${found?.name} ${added}${words.slice(found?.name.length)}` : words;
  });
}

// A command line in the syntax of a shell, with its secrets redacted.
function lineText({ words, command, tokens, literal }: PreparedCommandLine): string {
  const flags = command?.flags ?? [];
  const redacted = tokens.flatMap((token) => typedWords(token, redactValue(token, flags)));
  const rest = literal ? createArgumentRedactor({}, []).redactArguments(['--', ...literal]) : [];
  return ['svc', ...words, ...redacted, ...rest]
    .map((word) => (PLACEHOLDER.test(word) ? word : shellWord(word)))
    .join(' ');
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
