import type { Command } from '../command.ts';
import { redactUserInfo } from '../config/base-url.ts';
import { flagName } from '../fields/field.ts';
import type { Flag } from '../flag.ts';
import { REDACTED } from '../output/redact.ts';
import { shellWord } from '../output/shell-quote.ts';
import { createArgumentRedactor } from '../trace/argument-redactor.ts';
import { isNamedBy, splitValueFlag } from './normalize-arguments.ts';

/**
 * A command line in the syntax of a shell, for messages; secrets in it are redacted. Undefined where it has an unknown
 * flag, which may be followed by a secret.
 */
export function formatCommandLine(command: Command, words: readonly string[]): string | undefined {
  const redacted = redactWords(words, command.flags);
  return redacted && ['svc', ...command.words, ...redacted].map(shellWord).join(' ');
}

function redactWords(words: readonly string[], flags: readonly Flag[]): string[] | undefined {
  const redacted: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    // What follows is the command line of another program.
    if (word === '--') return [...redacted, ...createArgumentRedactor({}, []).redactArguments(words.slice(at))];
    if (word.startsWith('-') && word !== '-' && !isNamedBy(word, flags)) return undefined;
    const { flag, start, value } = splitValueFlag(word, flags) ?? {};
    redacted.push(flag && value !== undefined ? start + redactValue(flag, value, flags) : word);
    const next = words[at + 1];
    if (!flag || value !== undefined || next === undefined) continue;
    redacted.push(redactValue(flag, next, flags));
    at += 1;
  }
  return redacted;
}

function redactValue(flag: Flag, value: string, flags: readonly Flag[]): string {
  if (flag.isSecret) return value === 'random' || value.startsWith('@') ? value : REDACTED;
  if (flag.name === 'header') return value.includes(':') ? `${value.split(':')[0]}: ${REDACTED}` : REDACTED;
  if (flag.value?.includes('url')) return redactUserInfo(value);
  const field = flag.name === 'set' ? /\w+/.exec(value)?.[0] : undefined;
  const isSecretField = field !== undefined && flags.some(({ name, isSecret }) => isSecret && name === flagName(field));
  return isSecretField ? `${field}=${REDACTED}` : value;
}
