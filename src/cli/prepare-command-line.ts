import type { Command } from '../command.ts';
import { type Failure, usageFailure } from '../errors.ts';
import { type Flag, flagForms, takesValue } from '../flag.ts';
import { looksLikeToken } from '../output/redaction.ts';
import { commandsIn, sharedFlags } from './all-commands.ts';

/** A flag with its value, or an operand, which has a value only. */
export interface LineToken {
  /** The long form, such as `--model` or `--no-echo`; of an unknown flag the form as typed. */
  readonly form?: string;
  /** Undefined for operands and unknown flags. */
  readonly flag?: Flag;
  readonly value?: string;
  /** A flag as typed, up to its value: `--model`, or `--model=` and `-m` if the value is in the same word. */
  readonly start?: string;
}

export interface PreparedCommandLine {
  readonly typed: readonly string[];
  /** The words in forms that commander reads as svc means them. */
  readonly argv: readonly string[];
  /** The words that name a command or a group; the last one may be unknown. */
  readonly words: readonly string[];
  readonly command: Command | undefined;
  /** The flags, those before the command included, and the operands before a `--`. */
  readonly tokens: readonly LineToken[];
  /** The words after a `--`. */
  readonly literal?: readonly string[];
  /** A flag that requests text instead of a run. */
  readonly asksFor: '-h' | '--help' | '--version' | undefined;
  /** What commander would misread, the first of it. */
  readonly mistake: Failure | undefined;
}

/** Rewrites what commander cannot read, and finds what it would misread. Only the flags in `leading` may come before the command. */
export function prepareCommandLine(
  argv: readonly string[],
  leading: readonly Flag[] = sharedFlags(),
): PreparedCommandLine {
  const prepared: string[] = [];
  const words: string[] = [];
  const tokens: LineToken[] = [];
  let command: Command | undefined;
  let asksFor: PreparedCommandLine['asksFor'];
  let mistake: Failure | undefined;
  // The next operand cannot name a command.
  let isNamed = false;
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] ?? '';
    if (word === '--') {
      if (!command && !isNamed) mistake ??= usageFailure('unknown flag "--"', 'run: svc --help');
      const literal = argv.slice(at + 1);
      return { typed: argv, argv: [...prepared, word, ...literal], words, command, tokens, literal, asksFor, mistake };
    }
    if (isOperand(word)) {
      const found: Command[] = isNamed ? [] : commandsIn([...words, word]);
      if (found.length > 0 || !(isNamed || command)) {
        words.push(word);
        command = found.find((one) => one.words.length === words.length);
        isNamed = found.length === 0;
      } else if (command?.argument?.usage) {
        // The command of another program, whose flags are not those of svc.
        tokens.push(...argv.slice(at).map((value) => ({ value })));
        return { typed: argv, argv: [...prepared, ...argv.slice(at)], words, command, tokens, asksFor, mistake };
      } else {
        isNamed = true;
        tokens.push({ value: word });
        if (looksLikeToken(word)) mistake ??= secretFailure('an argument looks like a token', command?.flags ?? []);
      }
      prepared.push(word);
    } else if (word === '-h' || word === '--help' || (!command && (word === '-V' || word === '--version'))) {
      asksFor ??= word === '-V' ? '--version' : word;
      // `svc --help chat` means `svc chat --help`.
      isNamed ||= command !== undefined;
    } else {
      const next = argv[at + 1];
      const flags = command?.flags ?? leading;
      const parts = readFlags(word, flags);
      const last = rewriteBoolean(parts.at(-1) ?? {});
      mistake ??= joinedMistake(word, last, flags) ?? findMistake(last, argv.slice(at + 1), flags, command);
      isNamed ||= !command && !last.flag;
      prepared.push(...rewriteWord(word, last));
      if (takesNextWord(last) && next !== undefined) {
        at += 1;
        prepared.push(next);
        tokens.push(...parts.slice(0, -1), { ...last, value: next });
      } else tokens.push(...parts.slice(0, -1), last);
    }
  }
  return { typed: argv, argv: prepared, words, command, tokens, asksFor, mistake };
}

// As commander decides.
function isOperand(word: string): boolean {
  return !word.startsWith('-') || word === '-' || /^-(?:\d+|\d*\.\d+)(?:e[+-]?\d+)?$/.test(word);
}

/** The flags of a word that begins with a dash: one, or several joined short ones, of which the last may take a value. */
export function readFlags(word: string, flags: readonly Flag[]): LineToken[] {
  if (word.startsWith('--')) {
    const [form = '', value] = word.split(/=(.*)/s);
    const flag = flags.find((one) => flagForms(one).includes(form));
    if (!flag) return [{ form, start: form }];
    return value === undefined || (value === '' && flag.takes === 'optional')
      ? [{ form, flag, start: form }]
      : [{ form, flag, value, start: `${form}=` }];
  }
  const tokens: LineToken[] = [];
  for (let at = 1; at < word.length; at++) {
    const start = `-${word[at]}`;
    const flag = flags.find(({ short }) => short === word[at]);
    if (!flag) return [...tokens, { form: `-${word.slice(at)}`, start }];
    const token = { form: `--${flag.name}`, flag, start };
    if (takesValue(flag) && at + 1 < word.length) {
      const isJoined = word[at + 1] === '=';
      return [
        ...tokens,
        { ...token, value: word.slice(at + (isJoined ? 2 : 1)), ...(isJoined && { start: `${start}=` }) },
      ];
    }
    tokens.push(token);
  }
  return tokens;
}

/** True if the flag lacks its value, which is the next word. */
export function takesNextWord({ flag, form, value }: LineToken): boolean {
  return flag !== undefined && takesValue(flag) && form === `--${flag.name}` && value === undefined;
}

// `--echo=false` is `--no-echo`.
function rewriteBoolean(token: LineToken): LineToken {
  const { flag, form, value } = token;
  if (flag?.takes !== 'boolean' || form !== `--${flag.name}` || !/^(?:true|false)$/.test(value ?? '')) return token;
  const meant = value === 'true' ? form : `--no-${flag.name}`;
  return { form: meant, flag, start: meant };
}

function rewriteWord(word: string, { flag, form = '', value, start = '' }: LineToken): string[] {
  if (flag?.takes === 'optional' && value === undefined) return [`${form}=`];
  if (flag?.takes === 'boolean' && value === undefined) return [form];
  // Of `-qm=gpt` commander would take `=gpt` for the value.
  if (word.startsWith('--') || !start.endsWith('=')) return [word];
  const before = word.slice(1, word.indexOf(start.slice(1)));
  return [...(before === '' ? [] : [`-${before}`]), `${form}=${value}`];
}

// `-sS` and `-fsSL` of curl.
const CURL_GROUP = /^-f?s(?=.*[SLoO])[fgikLSv]{0,4}[oO]?$/;

// A short flag with a value in the same word that was meant as something else: `-sS`, `-model gpt`, `"-m gpt hi"`.
function joinedMistake(
  word: string,
  { flag, form = '', value }: LineToken,
  flags: readonly Flag[],
): Failure | undefined {
  if (!flag || !value || word.startsWith('--') || /^-\w=/.test(word)) return undefined;
  const read = `${word} is read as ${form} ${JSON.stringify(value)}`;
  if (CURL_GROUP.test(word))
    return usageFailure(read, 'write -q, which prints errors only; svc exits with a code for each kind of failure');
  const long = flags.find(({ name }) => word.split('=')[0] === `-${name}`);
  if (long) return usageFailure(read, `write -${word.split('=')[0]}; for the value, ${form}=${value}`);
  if (!/^\s/.test(value) || flag.name === 'system') return undefined;
  return usageFailure(
    `${JSON.stringify(word)} is one argument: ${form} with the value ${JSON.stringify(value)}`,
    'remove the quotes around flags',
  );
}

// Flags that take the number which other tools have after these.
const countFlags: { readonly [name: string]: string } = {
  'fail-fast': '--max-failures',
  'retry-unknown': '--retries',
  logprobs: '--logprobs --top-logprobs',
};

function findMistake(
  token: LineToken,
  [next, after = '']: readonly string[],
  flags: readonly Flag[],
  command?: Command,
): Failure | undefined {
  const { flag, form = '', value, start } = token;
  if (!flag) return secretFlagFailure(form, flags);
  if (looksLikeToken((takesNextWord(token) ? next : value) ?? '') && !flag.isSecret && flag.value !== '<regex>')
    return secretFailure(`the value of ${form} looks like a token`, flags);
  if (takesNextWord(token)) {
    if (next === '--')
      return usageFailure(
        `${start} needs a value, but the next word is --`,
        `write ${form} ${flag.value}; if -- is the value, write ${form}=--`,
      );
    // `--timeout 5 minutes`.
    const [, unit] = /^(ms|s|m|h|d|w)(?:ecs?|econds?|ins?|inutes?|rs?|ours?|ays?|eeks?)?$/i.exec(after) ?? [];
    if (unit && /^<(?:duration|age)>$/.test(flag.value ?? '') && /^\d+$/.test(next ?? ''))
      return usageFailure(
        `${start} takes one word, not ${next} ${after}`,
        `write ${form} ${next}${unit.toLowerCase()}`,
      );
    const name = /^--(?:no-)?([^=]+)/.exec(next ?? '')?.[1];
    if (name !== 'help' && !flags.some((one) => one.name === name || next === `-${one.short}`)) return undefined;
    return usageFailure(
      `${start} needs a value, but ${next} is a flag`,
      `write ${form} ${flag.value}; if it is the value, write ${form}=${next}`,
    );
  }
  const count = value ?? next ?? '';
  const counted = /^\d+%?$/.test(count) && form === `--${flag.name}` ? countFlags[flag.name] : undefined;
  if (counted)
    return usageFailure(
      `${form} takes no value, but ${value === undefined ? `the next word is ${JSON.stringify(count)}` : `${count} follows it`}`,
      `write ${counted} ${count} instead of ${form}, or ${form} alone${flag.takes === 'boolean' ? `; if it is text, write it after all flags: -- ${count}` : ''}`,
    );
  if (flag.takes !== 'boolean') return undefined;
  if (value === undefined) return booleanValueFailure(form, flag, next, command);
  if (form !== `--${flag.name}`) return undefined;
  return usageFailure(
    `${form} must be true or false, not ${JSON.stringify(value)}`,
    `write ${form} or --no-${flag.name}`,
  );
}

// `--logprobs yes hi` would send "yes hi".
function booleanValueFailure(form: string, { name }: Flag, next = '', command?: Command): Failure | undefined {
  if (!/^(?:yes|no|true|false|on|off|0|1)$/i.test(next)) return undefined;
  const asText =
    command?.operation?.arguments?.as === 'prompt' ? `; if it is text, write it after all flags: -- ${next}` : '';
  return usageFailure(
    `${form} takes no value, but the next word is ${JSON.stringify(next)}`,
    `write --${name} or --no-${name} without ${JSON.stringify(next)}${asText}`,
  );
}

// svc has no such flag: the value would be a secret.
function secretFlagFailure(form: string, flags: readonly Flag[]): Failure | undefined {
  const name = /^--(token|password|secret|api-key|credential)$/.exec(form)?.[1];
  return name === undefined ? undefined : secretFailure(`--${name} is not accepted`, flags, name === 'password');
}

function secretFailure(problem: string, flags: readonly Flag[], isPassword = false): Failure {
  return usageFailure(
    `${problem}: other users can see the arguments of a process`,
    isPassword
      ? 'run: svc auth login --password-stdin, or set SVC_USERNAME and SVC_PASSWORD'
      : `${flags.some((one) => one.name === 'token-env') ? 'write --token-env <variable>, or ' : ''}run: svc auth login --token-stdin, or set SVC_TOKEN`,
  );
}
