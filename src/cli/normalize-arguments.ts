import type { Command } from '../command.ts';
import { usageFailure } from '../errors.ts';
import { type Flag, flagForms, takesValue } from '../flag.ts';

/** Arguments in the form that commander reads, and the flag that requested help, if any. */
export interface NormalizedArguments {
  readonly words: readonly string[];
  readonly help?: '-h' | '--help';
}

/**
 * Prepares arguments for commander: `--echo=false` becomes `--no-echo`, and an optional value is taken only after `=`.
 * Throws usage when a flag lacks its value and another flag follows, when a boolean flag seems to have a value, and for
 * secrets given as arguments.
 */
export function normalizeArguments(words: readonly string[], command: Command): NormalizedArguments {
  const { flags } = command;
  const normalized: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    if (word === '--') return { words: [...normalized, ...words.slice(at)] };
    if (word === '-h' || word === '--help') return { words: normalized, help: word };
    rejectSecretArgument(word, flags);
    normalized.push(normalizeWord(word, flags));
    const value = words[at + 1];
    if (value === undefined) continue;
    rejectBooleanValue(word, value, command);
    if (!takesNextWord(word, flags)) continue;
    rejectFlagAsValue(word, value, flags);
    normalized.push(value);
    at += 1;
  }
  return { words: normalized };
}

function normalizeWord(word: string, flags: readonly Flag[]): string {
  const [, name = '', value] = /^--([^=]+)=(.*)$/s.exec(word) ?? [];
  const flag = flags.find((one) => one.name === name || `no-${one.name}` === name);
  if (flags.some(({ takes, name }) => takes === 'optional' && word === `--${name}`)) return `${word}=`;
  if (!flag || value === undefined || flag.takes === 'optional' || takesValue(flag)) return word;
  if (flag.takes !== 'boolean' || name !== flag.name) throw usageFailure(`--${name} takes no value`, `write --${name}`);
  if (value !== 'true' && value !== 'false') {
    throw usageFailure(
      `--${name} must be true or false, not ${JSON.stringify(value)}`,
      `write --${name} or --no-${name}`,
    );
  }
  return value === 'true' ? `--${name}` : `--no-${name}`;
}

/** True when the word is one of the flags, or begins with a short one. */
export function isNamedBy(word: string, flags: readonly Flag[]): boolean {
  const name = word.startsWith('--') ? (word.split('=')[0] ?? '') : word.slice(0, 2);
  return flags.some((flag) => flagForms(flag).includes(name) || (flag.short && name === `-${flag.short}`));
}

/** The index of the first word before `--` that is neither a flag nor its value; -1 if there is none, or an unknown flag before it. */
export function indexOfOperand(words: readonly string[], flags: readonly Flag[]): number {
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    if (!word.startsWith('-') || word === '-') return at;
    if (!isNamedBy(word, flags)) return -1;
    if (takesNextWord(word, flags)) at += 1;
  }
  return -1;
}

/** True when the next word is the value of the flag, or of the last of several joined short flags. */
export function takesNextWord(word: string, flags: readonly Flag[]): boolean {
  const split = splitValueFlag(word, flags);
  return split !== undefined && split.value === undefined;
}

/** A word that names a flag with a value. */
export interface ValueFlag {
  readonly flag: Flag;
  /** The word up to the value: `--model=`, `-m`, or `-qm` if other short flags are before it. */
  readonly start: string;
  /** Undefined if the next word is the value. */
  readonly value?: string;
}

/** Splits a word that names a flag with a value, such as `--model=x` or `-mx`; undefined for all other words. */
export function splitValueFlag(word: string, flags: readonly Flag[]): ValueFlag | undefined {
  if (word.startsWith('--')) {
    const end = word.indexOf('=') + 1;
    const name = end === 0 ? word : word.slice(0, end - 1);
    const flag = flags.find((one) => takesValue(one) && name === `--${one.name}`);
    return flag && (end === 0 ? { flag, start: word } : { flag, start: word.slice(0, end), value: word.slice(end) });
  }
  if (!/^-[A-Za-z]/.test(word)) return undefined;
  // The first of several joined short flags that takes a value takes the rest of the word or, if empty, the next word.
  for (let end = 2; end <= word.length; end++) {
    const flag = flags.find((one) => takesValue(one) && one.short === word[end - 1]);
    if (flag) return { flag, start: word.slice(0, end), ...(end < word.length ? { value: word.slice(end) } : {}) };
  }
  return undefined;
}

function rejectFlagAsValue(word: string, value: string, flags: readonly Flag[]): void {
  const name = /^--(?:no-)?([^=]+)/.exec(value)?.[1];
  const isFlag =
    name === 'help' || flags.some((flag) => flag.name === name || (flag.short && value === `-${flag.short}`));
  if (!isFlag) return;
  const long = flags.find(({ short }) => short !== undefined && word.endsWith(short))?.name;
  const full = word.startsWith('--') ? word : `--${long}`;
  throw usageFailure(`${word} needs a value, but ${value} is a flag`, `if it is the value, write ${full}=${value}`);
}

// `--logprobs yes hi` would send "yes hi".
function rejectBooleanValue(word: string, value: string, { flags, operation }: Command): void {
  const flag = flags.find((one) => one.takes === 'boolean' && flagForms(one).includes(word));
  if (!flag || !/^(?:yes|no|true|false|on|off|0|1)$/i.test(value)) return;
  const asText = operation?.arguments?.as === 'prompt' ? `; if it is text, write it after all flags: -- ${value}` : '';
  throw usageFailure(
    `${word} takes no value, but the next word is ${JSON.stringify(value)}`,
    `write --${flag.name} or --no-${flag.name} without ${JSON.stringify(value)}${asText}`,
  );
}

/** Throws usage for a flag such as `--token`, which svc does not have: the value would be a secret. */
export function rejectSecretArgument(word: string, flags: readonly Flag[]): void {
  const name = /^--(token|password|secret|api-key|credential)(?:=|$)/.exec(word)?.[1];
  if (name === undefined || flags.some((flag) => flag.name === name)) return;
  throw usageFailure(
    `--${name} is not accepted: other users can see the arguments of a process`,
    name === 'password'
      ? 'run: svc auth login --password-stdin, or set SVC_USERNAME and SVC_PASSWORD'
      : 'run: svc auth login --token-stdin, or set SVC_TOKEN',
  );
}
