import { errorMessage } from '../../errors.ts';
import { HttpError } from '../responses.ts';

/** A regular expression as an automaton, so that no input makes it backtrack. */
export interface Pattern {
  /** The shortest text that leads through it, if possible one of at least `minChars` characters; `isMatch` confirms it. */
  readonly sample: (minChars: number) => string;
  /** True if it matches anywhere in the text, as in JSON Schema. */
  readonly isMatch: (text: string) => boolean;
}

interface Character {
  readonly expression: RegExp;
  readonly sample: string;
}

/** A state leads to others: after a character, where an assertion holds, or always. */
interface State {
  readonly character?: Character;
  readonly assertion?: string;
  next: readonly State[];
}

/** Creates the states of a part of a pattern before those of its rest; returns the first one. */
type Part = (rest: State) => State;

const TOKEN =
  /\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\[upP]\{.*?\}|\\u.{4}|\\x..|\\c.|\\.|\[(?:\\.|[^\]\\])*\]|\(\?(?:<[^=!].*?>|.)|\{\d+(?:,\d*)?\}|./gsu;
const CODE_POINT = /\\(?:u\{([\da-f]+)\}|u([\da-f]{4})|x([\da-f]{2}))/gi;
const QUANTIFIER = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})$/;
const PREFERRED_CHARACTERS = 'abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ ';
const FIRST_SURROGATE = 0xd800;
const LAST_SURROGATE = 0xdfff;
const MAX_CODE_POINT = 0x1ffff;
const MAX_QUOTED_CHARS = 100;
const MAX_STEPS = 500_000;
// A state is visited faster than a value is checked.
const STATES_PER_STEP = 4;

/** Limits the work for a request: the function throws RangeError once all steps together are too many. */
export function createStepCounter(): (steps: number) => void {
  let remaining = MAX_STEPS;
  return (steps) => {
    remaining -= steps;
    if (!(remaining >= 0)) throw new RangeError(`it takes more than ${MAX_STEPS} steps`);
  };
}

/** The shortest text that a pattern matches as a whole. Throws HttpError 400. */
export function smallestMatch(source: string): string {
  const spend = createStepCounter();
  try {
    parsePattern(source, spend);
    const whole = parsePattern(`^(?:${source})$`, spend);
    const text = whole.sample(0);
    if (whole.isMatch(text)) return text;
    throw unsupportedPattern(source, 'svc can build no text that matches it');
  } catch (error) {
    throw new HttpError(400, `the built-in model found no text for structured_outputs.regex: ${errorMessage(error)}`);
  }
}

/** Parses a regular expression (ECMA-262, flag u). Throws Error `unsupported pattern`, and what `spend` throws. */
export function parsePattern(source: string, spend: (steps: number) => void): Pattern {
  const end: State = { next: [] };
  let start = end;
  try {
    // Compiling checks the syntax. It is never run as a whole.
    new RegExp(source, 'u');
    start = parseTokens(source.match(TOKEN) ?? [], spend)(end);
  } catch (error) {
    if (!(error instanceof Error) || error instanceof RangeError) throw error;
    throw unsupportedPattern(source, error.message);
  }
  // Adds the states that are reached without a character, each with the text so far.
  const follow = (texts: Map<State, string>, holds: (assertion: string) => boolean): Map<State, string> => {
    for (const [{ character, assertion, next }, text] of texts) {
      if (character || (assertion && !holds(assertion))) continue;
      for (const state of next) if (!texts.has(state)) texts.set(state, text);
    }
    spend(texts.size / STATES_PER_STEP);
    return texts;
  };
  const advance = (texts: Map<State, string>, choose: (character: Character) => string | undefined) => {
    const advanced = new Map<State, string>();
    for (const [{ character, next }, text] of texts) {
      const added = character && choose(character);
      for (const state of next) if (added !== undefined && !advanced.has(state)) advanced.set(state, text + added);
    }
    return advanced;
  };
  return {
    sample: (minChars) => {
      let found = '';
      let texts = new Map([[start, '']]);
      for (let chars = 0; texts.size > 0; chars += 1) {
        const text = follow(texts, () => true).get(end);
        found = text ?? found;
        if (text !== undefined && chars >= minChars) break;
        texts = advance(texts, ({ sample }) => sample);
      }
      return found + 'a'.repeat(Math.max(0, minChars - Array.from(found).length));
    },
    isMatch: (text) => {
      const characters = Array.from(text);
      let texts = new Map<State, string>();
      for (let at = 0; at <= characters.length; at += 1) {
        if (follow(texts.set(start, ''), (assertion) => holdsAt(assertion, characters, at)).has(end)) return true;
        texts = advance(texts, ({ expression }) => (expression.test(characters[at] ?? '') ? '' : undefined));
      }
      return false;
    },
  };
}

function unsupportedPattern(source: string, reason: string): Error {
  return new Error(
    `unsupported pattern ${JSON.stringify(source.slice(0, MAX_QUOTED_CHARS))}: ${reason.slice(-MAX_QUOTED_CHARS)}`,
  );
}

function parseTokens(tokens: readonly string[], spend: (steps: number) => void): Part {
  const characters = new Map<string, Character>();
  let at = 0;
  const parseAlternatives = (): Part => {
    const branches = [parseSequence()];
    while (tokens[at] === '|') {
      at += 1;
      branches.push(parseSequence());
    }
    const [only] = branches;
    return only && branches.length === 1 ? only : (rest) => ({ next: branches.map((branch) => branch(rest)) });
  };
  const parseSequence = (): Part => {
    const items: Part[] = [];
    for (let token = tokens[at]; token !== undefined && token !== '|' && token !== ')'; token = tokens[at]) {
      at += 1;
      items.push(parseQuantifier(parseAtom(token)));
    }
    return (rest) => {
      spend(1 + items.length);
      return items.reduceRight((state, item) => item(state), rest);
    };
  };
  const parseQuantifier = (item: Part): Part => {
    const [quantifier, sign, from, comma, to] = QUANTIFIER.exec(tokens[at] ?? '') ?? [];
    if (quantifier === undefined) return item;
    at += 1;
    // A lazy quantifier allows the same texts.
    if (tokens[at] === '?') at += 1;
    const least = Number(from ?? (sign === '+' ? 1 : 0));
    const most = sign === '?' ? 1 : comma === '' ? least : Number(to || Infinity);
    return repetition(item, least, most, spend);
  };
  const parseAtom = (token: string): Part => {
    if (token === '(' || /^\(\?(?::|<.*>)$/u.test(token)) {
      const group = parseAlternatives();
      at += 1;
      return group;
    }
    if (token.startsWith('(?')) throw new Error('the only groups that svc supports are (...), (?:...) and named ones');
    if (/^\\[1-9k]/.test(token)) throw new Error('it has a backreference');
    if (token === '^' || token === '$' || /^\\[bB]$/.test(token)) return (rest) => ({ assertion: token, next: [rest] });
    const character = characters.get(token) ?? parseCharacter(token, spend);
    characters.set(token, character);
    return (rest) => ({ character, next: [rest] });
  };
  return parseAlternatives();
}

function repetition(item: Part, from: number, to: number, spend: (steps: number) => void): Part {
  return (rest) => {
    let state = rest;
    if (to === Infinity) {
      state = { next: [] };
      state.next = [item(state), rest];
    }
    for (let count = from; count < to && to !== Infinity; count += 1) {
      spend(1);
      state = { next: [item(state), rest] };
    }
    for (let count = 0; count < from; count += 1) {
      spend(1);
      state = item(state);
    }
    return state;
  };
}

// A literal, an escape or a class: an expression of one character cannot backtrack.
function parseCharacter(token: string, spend: (steps: number) => void): Character {
  const expression = new RegExp(`^${token}$`, 'u');
  const escaped = Array.from(token.matchAll(CODE_POINT), ([, ...codes]) =>
    String.fromCodePoint(Number.parseInt(codes.join(''), 16)),
  );
  const found = Array.from(PREFERRED_CHARACTERS + token + escaped.join('')).find((one) => expression.test(one));
  if (found !== undefined) return { expression, sample: found };
  for (let code = 0; code <= MAX_CODE_POINT; code += 1) {
    spend(1);
    if (code >= FIRST_SURROGATE && code <= LAST_SURROGATE) continue;
    const sample = String.fromCodePoint(code);
    if (expression.test(sample)) return { expression, sample };
  }
  throw new Error(`no character for ${token}`);
}

function holdsAt(assertion: string, text: readonly string[], at: number): boolean {
  if (assertion === '^') return at === 0;
  if (assertion === '$') return at === text.length;
  const isWord = (character: string | undefined): boolean => character !== undefined && /^\w$/.test(character);
  return (isWord(text[at - 1]) !== isWord(text[at])) === (assertion === '\\b');
}
