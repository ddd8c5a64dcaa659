import { errorMessage } from '../../errors.ts';
import { runWithTimeLimit } from '../../http/time-limits.ts';
import { fieldError } from '../responses.ts';

const TOKEN =
  /\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\[upP]\{.*?\}|\\u.{4}|\\x..|\\c.|\\.|\[(?:\\.|[^\]\\])*\]|\(\?(?:<[^=!].*?>|.)|\{\d+(?:,\d*)?\}|./gsu;
const CODE_POINT = /\\(?:u\{([\da-f]+)\}|u([\da-f]{4})|x([\da-f]{2}))/gi;
const QUANTIFIER = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})$/;
const PREFERRED_CHARACTERS = 'abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ ';
const MAX_CODE_POINT = 0x1ffff;
const LAST_BEFORE_SURROGATES = 0xd7ff;
const SURROGATES = 0x800;
const MAX_TEXT_CHARS = 100_000;
const MAX_QUOTED_CHARS = 100;
// Each variant takes other alternatives, and values that are larger by its number.
const MAX_VARIANTS = 12;
// The service does nothing else meanwhile.
const TIME_LIMIT_MS = 1000;

/** A short text that a pattern matches as a whole. Throws HttpError 400. */
export function shortMatch(source: string): string {
  try {
    return firstValid(
      (variant) => matchingText(source, variant),
      (text) =>
        new RegExp(`^(?:${source})$`, 'u').test(text) ? undefined : `unsupported pattern ${quoteStart(source)}`,
    );
  } catch (error) {
    throw fieldError('structured_outputs.regex', `has no match that the built-in model found: ${errorMessage(error)}`);
  }
}

/** The first variant of a value without a problem. Throws Error for the problem of the first, and after 1 s. */
export function firstValid<T>(build: (variant: number) => T, problemOf: (value: T) => string | undefined): T {
  return runWithTimeLimit(() => {
    const problems: (string | undefined)[] = [];
    while (problems.length < MAX_VARIANTS) {
      try {
        const value = build(problems.length);
        const problem = problemOf(value);
        if (problem === undefined) return value;
        problems.push(problem);
      } catch (error) {
        problems.push(errorMessage(error));
      }
    }
    throw new Error(problems[0]);
  }, TIME_LIMIT_MS);
}

/**
 * A text that a pattern (ECMA-262, flag u) most likely matches: with `variant` more than the fewest repetitions that
 * `minChars` allows, and with the alternative of that number. Throws Error for a pattern that svc cannot read.
 */
export function matchingText(source: string, variant: number, minChars = 0): string {
  try {
    // Compiling checks the syntax.
    new RegExp(source, 'u');
    const tokens = source.match(TOKEN) ?? [];
    const missing = Math.max(0, minChars - textOf(tokens, variant, 0).length);
    return textOf(tokens, variant, missing + variant).padEnd(minChars, 'a');
  } catch (error) {
    const reason = errorMessage(error).slice(-MAX_QUOTED_CHARS);
    throw new Error(`unsupported pattern ${quoteStart(source)}: ${reason}`);
  }
}

function quoteStart(source: string): string {
  return JSON.stringify(source.slice(0, MAX_QUOTED_CHARS));
}

function textOf(tokens: readonly string[], variant: number, extraRepetitions: number): string {
  let [at, extra] = [0, extraRepetitions];
  const alternatives = (): string => {
    const branches = [sequence()];
    for (; tokens[at] === '|'; branches.push(sequence())) at += 1;
    return branches[variant % branches.length] ?? '';
  };
  const sequence = (): string => {
    let text = '';
    for (let token = tokens[at]; token !== undefined && token !== '|' && token !== ')'; token = tokens[at]) {
      at += 1;
      const item = atom(token);
      const count = repetitions();
      if (text.length + item.length * count > MAX_TEXT_CHARS) throw new Error('its matches are too long');
      text += item.repeat(count);
    }
    return text;
  };
  const repetitions = (): number => {
    const [quantifier, sign, from, comma, to] = QUANTIFIER.exec(tokens[at] ?? '') ?? [];
    if (quantifier === undefined) return 1;
    // A lazy quantifier allows the same texts.
    at += tokens[at + 1] === '?' ? 2 : 1;
    const least = Number(from ?? (sign === '+' ? 1 : 0));
    const most = sign === '?' ? 1 : comma === '' ? least : Number(to || Infinity);
    const added = Math.min(extra, most - least);
    extra -= added;
    return least + added;
  };
  const atom = (token: string): string => {
    if (token === '(' || /^\(\?(?::|<.*>)$/u.test(token)) {
      const group = alternatives();
      at += 1;
      return group;
    }
    if (token.startsWith('(?')) throw new Error('the only groups that svc supports are (...), (?:...) and named ones');
    if (/^\\[1-9k]/.test(token)) throw new Error('it has a backreference');
    return token === '^' || token === '$' || /^\\[bB]$/.test(token) ? '' : characterOf(token);
  };
  return alternatives();
}

function characterOf(token: string): string {
  const expression = new RegExp(`^${token}$`, 'u');
  const escaped = Array.from(token.matchAll(CODE_POINT), ([, ...codes]) =>
    String.fromCodePoint(Number.parseInt(codes.join(''), 16)),
  );
  const preferred = Array.from(PREFERRED_CHARACTERS + token + escaped.join('')).find((one) => expression.test(one));
  if (preferred !== undefined) return preferred;
  for (let code = 0; code <= MAX_CODE_POINT; code += code === LAST_BEFORE_SURROGATES ? SURROGATES + 1 : 1)
    if (expression.test(String.fromCodePoint(code))) return String.fromCodePoint(code);
  throw new Error(`no character for ${token}`);
}
