import type { Command } from '../command.ts';
import { redactUserInfo } from '../config/base-url.ts';
import { type Failure, usageFailure } from '../errors.ts';
import { flagName } from '../fields/field.ts';
import type { Flag } from '../flag.ts';
import { REDACTED } from '../output/reporter.ts';
import { shellWord } from '../output/shell-quote.ts';
import { createArgumentRedactor } from '../trace/argument-redactor.ts';
import { isNamedBy, splitValueFlag, takesNextWord } from './normalize-arguments.ts';

const BODY_FILE = /\.(json|ya?ml)$/i;

/**
 * The hint of a mistake: the corrected command line in the syntax of a shell, with its secrets redacted; or the help of the
 * command if the line has an unknown flag, which may be followed by a secret.
 */
export function correctedLineHint({ name, words: path, flags }: Command, words: readonly string[]): string {
  const redacted = redactWords(words, flags);
  return redacted ? `write: ${['svc', ...path, ...redacted].map(shellWord).join(' ')}` : `run: svc ${name} --help`;
}

/** The failure of a command line whose word at `at` is the command of another program, or the value of the flag before it. */
export function missingSeparator(command: Command, words: readonly string[], at: number): Failure {
  const before = words.slice(0, at);
  const after = words.slice(at);
  const flag = before.at(-1);
  const isValue =
    after.includes('--') && command.flags.some((one) => one.takes === 'optional' && flag === `--${one.name}`);
  return isValue
    ? usageFailure(
        `${flag} takes a value only after =`,
        correctedLineHint(command, [...before.slice(0, -1), `${flag}=${after[0]}`, ...after.slice(1)]),
      )
    : usageFailure(
        `svc ${command.name} takes its command only after --`,
        correctedLineHint(command, [...before, '--', ...after]),
      );
}

/** The failure of a command line with more arguments than the command takes. */
export function tooManyArguments(command: Command, words: readonly string[]): Failure {
  return usageFailure(
    `too many arguments for svc ${command.name}`,
    correctedLineHint(command, withoutExtraArguments(words, command)),
  );
}

// The only commands that take several arguments take any number. The first file is taken for the body, whose flag is missing.
function withoutExtraArguments(words: readonly string[], { argument, flags }: Command): string[] {
  const kept: string[] = [];
  let remaining = argument ? 1 : 0;
  const bodyFlags = flags.filter(({ name }) => name === 'file');
  let lacksBody = bodyFlags.length > 0 && !words.some((word) => isNamedBy(word, bodyFlags));
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    if (word === '--') return [...kept, ...words.slice(at, at + (remaining && 2))];
    if (!word.startsWith('-') || word === '-') {
      if (remaining > 0) kept.push(word);
      else if (lacksBody && BODY_FILE.test(word)) {
        kept.push('-f', word);
        lacksBody = false;
      }
      remaining = 0;
      continue;
    }
    const next = takesNextWord(word, flags) ? 1 : 0;
    kept.push(...words.slice(at, at + 1 + next));
    at += next;
  }
  return kept;
}

function redactWords(words: readonly string[], flags: readonly Flag[]): string[] | undefined {
  const redacted: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    // The rest is the command line of another program.
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
