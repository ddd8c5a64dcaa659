import { errorMessage } from '../../errors.ts';
import { HttpError } from '../responses.ts';

/** A regular expression that is generated from and matched as a tree, so that no input makes it backtrack. */
export interface Pattern {
  /** The shortest text that its parts allow, or if possible one of at least `minChars` characters; `isMatch` confirms it. */
  readonly sample: (minChars: number) => string;
  /** True if it matches anywhere in the text, as in JSON Schema. */
  readonly isMatch: (text: string) => boolean;
}

interface Part {
  readonly shortest: number;
  readonly longest: number;
  /** A text of `chars` characters, between the shortest and the longest; longer where its parts have no such length. */
  readonly write: (chars: number) => string;
  /** The positions where matches from any of the starts end. */
  readonly endsOf: (text: readonly string[], starts: ReadonlySet<number>) => ReadonlySet<number>;
}

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

/** Limits the work for a request: the function throws RangeError once all steps together are too many. */
export function createStepCounter(): (steps: number) => void {
  let remaining = MAX_STEPS;
  return (steps) => {
    remaining -= steps;
    if (!(remaining >= 0)) throw new RangeError(`it takes more than ${MAX_STEPS} steps`);
  };
}

/** The shortest text that a pattern matches as a whole. Throws HttpError 400 `unsupported pattern`. */
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

/**
 * Parses a regular expression (ECMA-262 with the flag u) without lookaheads, lookbehinds and backreferences. `spend` takes
 * the steps of all work and throws if they are too many. Throws Error `unsupported pattern` for all others.
 */
export function parsePattern(source: string, spend: (steps: number) => void): Pattern {
  try {
    // Compiling checks the syntax. It is never run as a whole.
    new RegExp(source, 'u');
    const root = parseTokens(source.match(TOKEN) ?? [], spend);
    return {
      sample: (minChars) => {
        const text = root.write(Math.min(Math.max(minChars, root.shortest), root.longest));
        return text + 'a'.repeat(Math.max(0, minChars - Array.from(text).length));
      },
      isMatch: (text) => {
        const characters = Array.from(text);
        return root.endsOf(characters, new Set([...characters.keys(), characters.length])).size > 0;
      },
    };
  } catch (error) {
    if (!(error instanceof Error) || error instanceof RangeError) throw error;
    throw unsupportedPattern(source, error.message);
  }
}

function unsupportedPattern(source: string, reason: string): Error {
  return new Error(
    `unsupported pattern ${JSON.stringify(source.slice(0, MAX_QUOTED_CHARS))}: ${reason.slice(-MAX_QUOTED_CHARS)}`,
  );
}

function parseTokens(tokens: readonly string[], spend: (steps: number) => void): Part {
  const characters = new Map<string, Part>();
  let at = 0;
  const parseAlternatives = (): Part => {
    const branches = [parseSequence()];
    while (tokens[at] === '|') {
      at += 1;
      branches.push(parseSequence());
    }
    return alternatives(branches);
  };
  const parseSequence = (): Part => {
    const items: Part[] = [];
    for (let token = tokens[at]; token !== undefined && token !== '|' && token !== ')'; token = tokens[at]) {
      at += 1;
      items.push(parseQuantifier(parseAtom(token)));
    }
    return sequence(items, spend);
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
    if (token === '^' || token === '$' || /^\\[bB]$/.test(token)) return assertion(token, spend);
    const part = characters.get(token) ?? character(token, spend);
    characters.set(token, part);
    return part;
  };
  return parseAlternatives();
}

// A literal, an escape or a class: one character at a time, an expression of one character cannot backtrack.
function character(token: string, spend: (steps: number) => void): Part {
  const pattern = new RegExp(`^${token}$`, 'u');
  const sample = characterOf(pattern, token, spend);
  return {
    shortest: 1,
    longest: 1,
    write: () => {
      spend(1);
      return sample;
    },
    endsOf: (text, starts) => {
      spend(starts.size);
      return new Set(
        Array.from(starts).flatMap((at) => (at < text.length && pattern.test(text[at] ?? '') ? at + 1 : [])),
      );
    },
  };
}

function characterOf(pattern: RegExp, token: string, spend: (steps: number) => void): string {
  const escaped = Array.from(token.matchAll(CODE_POINT), ([, ...codes]) =>
    String.fromCodePoint(Number.parseInt(codes.join(''), 16)),
  );
  const found = Array.from(PREFERRED_CHARACTERS + token + escaped.join('')).find((one) => pattern.test(one));
  if (found !== undefined) return found;
  for (let code = 0; code <= MAX_CODE_POINT; code += 1) {
    spend(1);
    if (code >= FIRST_SURROGATE && code <= LAST_SURROGATE) continue;
    const candidate = String.fromCodePoint(code);
    if (pattern.test(candidate)) return candidate;
  }
  throw new Error(`no character for ${token}`);
}

function assertion(token: string, spend: (steps: number) => void): Part {
  const isWord = (character: string | undefined): boolean => character !== undefined && /^\w$/.test(character);
  const holds = (text: readonly string[], at: number): boolean => {
    if (token === '^') return at === 0;
    if (token === '$') return at === text.length;
    return (isWord(text[at - 1]) !== isWord(text[at])) === (token === '\\b');
  };
  const endsOf: Part['endsOf'] = (text, starts) => {
    spend(starts.size);
    return new Set(Array.from(starts).filter((at) => holds(text, at)));
  };
  return { shortest: 0, longest: 0, write: () => '', endsOf };
}

function sequence(items: readonly Part[], spend: (steps: number) => void): Part {
  return {
    shortest: items.reduce((sum, { shortest }) => sum + shortest, 0),
    longest: items.reduce((sum, { longest }) => sum + longest, 0),
    write: (chars) => {
      spend(1 + items.length);
      return writeSequence(items, chars);
    },
    endsOf: (text, starts) => {
      spend(1 + items.length);
      return items.reduce((ends, item) => item.endsOf(text, ends), starts);
    },
  };
}

function writeSequence(items: readonly Part[], chars: number): string {
  let spare = chars - items.reduce((sum, { shortest }) => sum + shortest, 0);
  return items.reduce((text, { shortest, longest, write }) => {
    const added = Math.max(0, Math.min(spare, longest - shortest));
    spare -= added;
    return text + write(shortest + added);
  }, '');
}

function alternatives(branches: readonly Part[]): Part {
  const byLength = branches.toSorted((left, right) => left.shortest - right.shortest);
  return {
    shortest: Math.min(...branches.map(({ shortest }) => shortest)),
    longest: Math.max(...branches.map(({ longest }) => longest)),
    write: (chars) => {
      const branch = byLength.find(({ longest }) => longest >= chars);
      return branch?.write(Math.max(chars, branch.shortest)) ?? '';
    },
    endsOf: (text, starts) => new Set(branches.flatMap((branch) => Array.from(branch.endsOf(text, starts)))),
  };
}

function repetition(item: Part, from: number, to: number, spend: (steps: number) => void): Part {
  return {
    shortest: from * item.shortest,
    longest: item.longest === 0 ? 0 : to * item.longest,
    write: (chars) => {
      const count = chars === 0 ? from : Math.max(from, 1, Math.ceil(chars / (item.longest || Infinity)));
      spend(count);
      return writeSequence(Array<Part>(count).fill(item), chars);
    },
    endsOf: (text, starts) => {
      const endsOnce = (ends: ReadonlySet<number>): ReadonlySet<number> => {
        spend(1 + ends.size);
        return item.endsOf(text, ends);
      };
      let latest = starts;
      for (let count = 0; count < from && latest.size > 0; count += 1) latest = endsOnce(latest);
      const all = new Set(latest);
      for (let count = from; count < to && latest.size > 0; count += 1) {
        latest = new Set(Array.from(endsOnce(latest)).filter((end) => !all.has(end)));
        for (const end of latest) all.add(end);
      }
      return all;
    },
  };
}
