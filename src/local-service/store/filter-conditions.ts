import { HttpError } from '../responses.ts';

export type Key = readonly (string | number)[];

/** A condition of a query, and its values. */
export type Condition = readonly [sql: string, values: Key];

export function joined(conditions: readonly Condition[]): Condition {
  return [conditions.map(([sql]) => sql).join(' and '), conditions.flatMap(([, values]) => values)];
}

/** As an expression, so that the rows are read in the order of their index: that of a filtered column has another order. */
export function equals(column: string) {
  return (value: string): Condition => [`${column} || '' = ?`, [value]];
}

// A search with more of them ignores the case of the first only.
const MAX_FOLDED_LETTERS = 16;

// SQLite parses no expression that is nested deeply; the list of a query is read before the query within.
const REPLACEMENTS_PER_QUERY = 8;

// What a search ignores: escapes of JSON (of a backslash first, which another one could follow), quotes and white space.
const IGNORED = ['\\\\', '\\n', '\\t', '\\', '"', ' ', '\n', '\r', '\t'];

/** A search for a text as it is shown, in JSON or other text: case, white space, quotes and backslashes do not matter. */
export function searchCondition(searched: string, search: string): Condition {
  // Both databases fold the case of ASCII letters only, so the query folds the others. In JSON, letters may be escaped.
  const foldings = [...new Set(search)].flatMap((letter): [from: string, to: string][] => {
    const folded = foldCase(letter);
    const variants = [letter, letter.toUpperCase(), letter.toLowerCase()].filter((variant) => variant !== folded);
    return letter > '\x7f' ? [...new Set(variants)].map((variant) => [variant, folded]) : [];
  });
  const replacements = [
    ...foldings
      .slice(0, MAX_FOLDED_LETTERS)
      .flatMap(([from, to]) => [[from, to] as const, [escapeLetters(from), escapeLetters(to)] as const]),
    ...IGNORED.map((text) => [text, ''] as const),
  ];
  const folded = Array.from(search, foldCase).join('');
  const patterns = [...new Set([folded, escapeLetters(folded)])].map((pattern) => pattern.replace(/[\\"\s]/g, ''));
  let text = `(select lower(${searched}) as folded) as part`;
  const values: string[] = [];
  for (let at = 0; at < replacements.length; at += REPLACEMENTS_PER_QUERY) {
    const some = replacements.slice(at, at + REPLACEMENTS_PER_QUERY);
    text = `(select ${some.reduce((sql) => `replace(${sql}, ?, ?)`, 'folded')} as folded from ${text}) as part`;
    values.unshift(...some.flat());
  }
  return [
    `(select ${patterns.map(() => "folded like ? escape '\\'").join(' or ')} from ${text})`,
    [...patterns.map((pattern) => `%${pattern.replace(/[\\%_]/g, '\\$&')}%`), ...values],
  ];
}

function foldCase(letter: string): string {
  return letter.toUpperCase().toLowerCase();
}

function escapeLetters(text: string): string {
  return text.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

const durationUnits: { readonly [unit: string]: number } = {
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1e3,
  min: 6e4,
  m: 6e4,
  h: 3.6e6,
};

/** Throws HttpError 400 for another text. */
export function durationCondition(text: string): Condition {
  const terms = [...text.matchAll(/\s*(<=?|>=?|=|)\s*(\d+(?:\.\d+)?)\s*([a-zµ]+)\s*/g)];
  const limits = terms.map(([, sign, number, unit = '']): Condition => {
    return [`duration_ms ${sign || '>='} ?`, [Number(number) * (durationUnits[unit] ?? Number.NaN)]];
  });
  const isRead = limits.length > 0 && limits.every(([, [limit]]) => !Number.isNaN(limit));
  if (!isRead || terms.map(([term]) => term).join('') !== text)
    throw new HttpError(400, `duration ${JSON.stringify(text)} must be one like >2s, <=500ms, or >1s <1min`);
  return joined([['duration_ms >= 0', []], ...limits]);
}

/** Throws HttpError 400 for another text. */
export function failedCondition(text: string): Condition {
  if (text !== 'yes' && text !== 'no') throw new HttpError(400, 'failed must be yes or no');
  return [text === 'yes' ? 'failed > 0' : 'failed = 0', []];
}

// With commas around each value.
const SEPARATED_PAYLOAD = [...'{}[]:'].reduce((sql, mark) => `replace(${sql}, '${mark}', ',')`, 'feedback.payload');

/** A number, or a comparison with one, means any number of the payload; another text is searched. Throws HttpError 400. */
export function valueCondition(text: string): Condition {
  const [, sign = '', number] = /^\s*(<=?|>=?|=|)\s*(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*$/.exec(text) ?? [];
  const value = Number(number);
  if (number !== undefined && /[<>]/.test(sign)) return [`${sign[0] === '<' ? 'low' : 'high'} ${sign} ?`, [value]];
  const [sql, values] =
    number === undefined
      ? searchCondition('feedback.payload', text)
      : searchCondition(SEPARATED_PAYLOAD, `,${number},`);
  if (number !== undefined) return [`(low = ? or high = ? or ${sql})`, [value, value, ...values]];
  if (/[<>]/.test(text))
    throw new HttpError(400, `value ${JSON.stringify(text)} must be one like >0.5, <=3, true, or a text`);
  return [sql, values];
}
