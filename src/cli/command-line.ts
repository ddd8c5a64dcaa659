import { Buffer, isUtf8 } from 'node:buffer';
import type { Command } from '../command.ts';
import { usageFailure } from '../errors.ts';
import { type Flag, type FlagValues, flagForms, takesValue } from '../flag.ts';
import { commandsIn } from './all-commands.ts';
import { sharedFlags } from './shared-flags.ts';

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

export interface CommandLine {
  /** The words that name a command or a group; the last one may be unknown. */
  readonly words: readonly string[];
  readonly command: Command | undefined;
  /** The flags, those before the command included, and the operands before a `--`. */
  readonly tokens: readonly LineToken[];
  readonly literal?: readonly string[] | undefined;
  readonly operands: readonly string[];
  /** A flag that requests text; nothing after it counts, unless it is before the command. */
  readonly asksFor?: '-h' | '--help' | '--version';
}

/**
 * Splits a command line. Only the flags in `leading` may come before the command: the tokens end with the first other
 * one. Unless `finish` is `withNextWord`, throws usage for what would be misread: a flag without its value, a value that
 * a boolean flag seems to have, and a secret as an argument.
 */
export function splitCommandLine(
  argv: readonly string[],
  leading: readonly Flag[] = sharedFlags(),
  finish: typeof checkFlag = checkFlag,
): CommandLine {
  const words: string[] = [];
  const tokens: LineToken[] = [];
  let command: Command | undefined;
  let help: '-h' | '--help' | undefined;
  const split = (more: Partial<CommandLine> = {}): CommandLine => ({
    ...{ words, command, tokens },
    ...(help ? { asksFor: help } : {}),
    ...more,
    operands: [...tokens.flatMap(({ form, value = '' }) => (form === undefined ? value : [])), ...(more.literal ?? [])],
  });
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] ?? '';
    if (word === '--' && command) return split({ literal: argv.slice(at + 1) });
    if (isOperand(word)) {
      const found = tokens.some(({ form }) => form === undefined) ? [] : commandsIn([...words, word]);
      if (found.length > 0 || !command) {
        words.push(word);
        command = found.find((one) => one.words.length === words.length);
        if (found.length === 0) return split();
      } else if (command.argument?.usage) {
        // The command of another program, whose flags are not those of svc.
        tokens.push(...argv.slice(at).map((value) => ({ value })));
        return split();
      } else tokens.push({ value: word });
    } else if (word === '-h' || word === '--help') {
      help ??= word;
      if (command) return split();
    } else if (help) {
      // `svc --help chat` means `svc chat --help`.
    } else if (!command && (word === '-V' || word === '--version')) return split({ asksFor: '--version' });
    else {
      const flags = command?.flags ?? leading;
      const read = readFlags(word, flags);
      const last = read.at(-1) ?? {};
      tokens.push(...read.slice(0, -1), finish(last, argv[at + 1], flags, command));
      if (takesNextWord(last)) at += 1;
      if (!command && !last.flag) return split();
    }
  }
  return split();
}

/** The values of the flags of a command; of several the last one counts. */
export function readFlagValues(tokens: readonly LineToken[], flags: readonly Flag[]): FlagValues {
  const values = new Map<string, boolean | string | readonly string[]>();
  for (const { name, takes, isOnce } of flags) {
    const given = tokens.filter(({ flag }) => flag?.name === name);
    const last = given.at(-1);
    const all = given.flatMap(({ value }) => value ?? []);
    if (!last) continue;
    if (isOnce && all.length > 1) throw usageFailure(`--${name} was given twice: ${all.join(' and ')}`, 'give it once');
    if (last.form !== `--${name}`) values.set(name, false);
    else if (takes === 'values') values.set(name, all);
    else values.set(name, name === 'output' && last.value === '/dev/stdout' ? '-' : (last.value ?? true));
  }
  return values;
}

function isOperand(word: string): boolean {
  return !word.startsWith('-') || word === '-' || /^-\.?\d/.test(word);
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
    if (takesValue(flag) && at + 1 < word.length) return [...tokens, { ...token, value: word.slice(at + 1) }];
    tokens.push(token);
  }
  return tokens;
}

/** The flag, with the next word as its value if it takes one. */
export function withNextWord(token: LineToken, next: string | undefined): LineToken {
  return takesNextWord(token) && next !== undefined ? { ...token, value: next } : token;
}

/** True if the flag lacks its value, which is the next word. */
export function takesNextWord({ flag, form, value }: LineToken): boolean {
  return flag !== undefined && takesValue(flag) && form === `--${flag.name}` && value === undefined;
}

// The flag with its value, `--echo=false` as `--no-echo`.
function checkFlag(token: LineToken, next: string | undefined, flags: readonly Flag[], command?: Command): LineToken {
  const { flag, form = '', value, start } = token;
  if (!flag) rejectSecretArgument(form);
  if (takesNextWord(token)) {
    if (next === undefined)
      throw usageFailure(`${form} needs a value`, `run: ${['svc', ...(command?.words ?? [])].join(' ')} --help`);
    const name = /^--(?:no-)?([^=]+)/.exec(next)?.[1];
    if (name === 'help' || flags.some((one) => one.name === name || next === `-${one.short}`))
      throw usageFailure(`${start} needs a value, but ${next} is a flag`, `if it is the value, write ${form}=${next}`);
    return { ...token, value: next };
  }
  if (flag?.takes === 'boolean' && value === undefined) rejectBooleanValue(form, flag, next, command);
  const isOn = form === `--${flag?.name}`;
  if (!flag || value === undefined || (isOn && (takesValue(flag) || flag.takes === 'optional'))) return token;
  if (flag.takes !== 'boolean' || !isOn) throw usageFailure(`${form} takes no value`, `write ${form}`);
  if (value !== 'true' && value !== 'false')
    throw usageFailure(
      `${form} must be true or false, not ${JSON.stringify(value)}`,
      `write ${form} or --no-${flag.name}`,
    );
  const meant = value === 'true' ? form : `--no-${flag.name}`;
  return { form: meant, flag, start: meant };
}

// `--logprobs yes hi` would send "yes hi".
function rejectBooleanValue(form: string, { name }: Flag, next = '', command?: Command): void {
  if (!/^(?:yes|no|true|false|on|off|0|1)$/i.test(next)) return;
  const asText =
    command?.operation?.arguments?.as === 'prompt' ? `; if it is text, write it after all flags: -- ${next}` : '';
  throw usageFailure(
    `${form} takes no value, but the next word is ${JSON.stringify(next)}`,
    `write --${name} or --no-${name} without ${JSON.stringify(next)}${asText}`,
  );
}

// svc has no such flag: the value would be a secret.
function rejectSecretArgument(form: string): void {
  const name = /^--(token|password|secret|api-key|credential)$/.exec(form)?.[1];
  if (name === undefined) return;
  throw usageFailure(
    `--${name} is not accepted: other users can see the arguments of a process`,
    name === 'password'
      ? 'run: svc auth login --password-stdin, or set SVC_USERNAME and SVC_PASSWORD'
      : 'run: svc auth login --token-stdin, or set SVC_TOKEN',
  );
}

// Node decodes every invalid byte of an argument to this character.
const REPLACEMENT_CHARACTER = '\uFFFD';

/**
 * Throws usage when an argument is not valid UTF-8, judged by the bytes of the command line, each argument ended by a
 * zero byte. Without bytes it returns a warning for an argument that may have been invalid.
 */
export function checkArgumentEncoding(
  argv: readonly string[],
  readBytes: () => Uint8Array | undefined,
): string | undefined {
  const at = argv.findIndex((word) => word.includes(REPLACEMENT_CHARACTER));
  if (at === -1) return undefined;
  const bytes = readBytes();
  if (!bytes) return `argument ${at + 1} contains U+FFFD; it may not have been valid UTF-8`;
  // Latin-1 keeps every byte.
  const words = Buffer.from(bytes).toString('latin1').split('\0').slice(0, -1);
  const invalid = words.slice(-argv.length).findIndex((word) => !isUtf8(Buffer.from(word, 'latin1')));
  if (invalid === -1) return undefined;
  throw usageFailure(
    `argument ${invalid + 1} is not valid UTF-8: ${JSON.stringify(argv[invalid])}`,
    'convert it to UTF-8',
  );
}
