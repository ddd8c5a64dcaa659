import { usageFailure } from '../errors.ts';
import type { Flag } from '../flag.ts';

/**
 * The words of a command line in the form commander reads: `--echo=false` becomes `--no-echo`. Throws usage where a
 * flag has lost its value and would swallow the next one, and for secrets, which are never arguments.
 */
export function normalizeArguments(words: readonly string[], flags: readonly Flag[]): string[] {
  const normalized: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    if (word === '--') return [...normalized, ...words.slice(at)];
    rejectSecretArgument(word, flags);
    normalized.push(normalizeWord(word, flags));
    if (!takesNextWord(word, flags)) continue;
    const value = words[at + 1];
    if (value === undefined) continue;
    rejectFlagAsValue(word, value, flags);
    normalized.push(value);
    at += 1;
  }
  return normalized;
}

function normalizeWord(word: string, flags: readonly Flag[]): string {
  const [, name = '', value] = /^--([^=]+)=(.*)$/s.exec(word) ?? [];
  const flag = flags.find((one) => one.name === name || `no-${one.name}` === name);
  if (!flag || value === undefined || takesValue(flag)) return word;
  if (flag.takes !== 'boolean' || name !== flag.name) throw usageFailure(`--${name} takes no value`, `write --${name}`);
  if (value !== 'true' && value !== 'false') {
    throw usageFailure(`--${name} is on or off, not ${JSON.stringify(value)}`, `write --${name} or --no-${name}`);
  }
  return value === 'true' ? `--${name}` : `--no-${name}`;
}

function takesNextWord(word: string, flags: readonly Flag[]): boolean {
  if (word.startsWith('--')) return flags.some((flag) => takesValue(flag) && word === `--${flag.name}`);
  if (!/^-[A-Za-z]/.test(word)) return false;
  // Of joined short flags the first that takes a value has the rest of the word, or, where there is none, the next word.
  for (const [at, letter] of [...word].slice(1).entries()) {
    const flag = flags.find(({ short }) => short === letter);
    if (flag && takesValue(flag)) return at === word.length - 2;
  }
  return false;
}

function rejectFlagAsValue(word: string, value: string, flags: readonly Flag[]): void {
  const name = /^--(?:no-)?([^=]+)/.exec(value)?.[1];
  const isFlag =
    name === 'help' || flags.some((flag) => flag.name === name || (flag.short && value === `-${flag.short}`));
  if (!isFlag) return;
  const long = flags.find(({ short }) => short !== undefined && word.endsWith(short))?.name;
  const full = word.startsWith('--') ? word : `--${long}`;
  throw usageFailure(`${word} needs a value, and ${value} is a flag`, `if it is the value, write ${full}=${value}`);
}

function rejectSecretArgument(word: string, flags: readonly Flag[]): void {
  const name = /^--(token|password|secret|api-key|credential)(?:=|$)/.exec(word)?.[1];
  if (name === undefined || flags.some((flag) => flag.name === name)) return;
  throw usageFailure(
    `--${name}: a secret is never an argument, other users could see it`,
    'use svc auth login with --token-stdin or --password-stdin, or SVC_TOKEN, or SVC_USERNAME and SVC_PASSWORD',
  );
}

function takesValue({ takes }: Flag): boolean {
  return takes === 'value' || takes === 'values';
}
