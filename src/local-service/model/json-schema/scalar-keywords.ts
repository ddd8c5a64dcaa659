import { itemsOf, type JsonNode, kindOf, rawText, stringOf } from '../../../json/json-node.ts';
import { compareNumberLiterals, isIntegerLiteral } from '../../../json/number-literal.ts';
import { canonicalJson } from './canonical-json.ts';
import { isMultipleOf, parseDecimal } from './decimal.ts';
import type { KeywordCheck } from './find-violation.ts';
import { UnsupportedKeyword } from './unsupported-keyword.ts';

/** The checks of keywords about a value as a whole, a number or a string. */
export const scalarKeywords: ReadonlyMap<string, KeywordCheck> = new Map<string, KeywordCheck>([
  [
    'type',
    ({ value, rule }) =>
      (kindOf(rule) === 'string' ? [rule] : Array.from(itemsOf(rule))).some((name) => isOfType(value, stringOf(name))),
  ],
  ['const', ({ value, rule }) => canonicalJson(value) === canonicalJson(rule)],
  [
    'enum',
    ({ value, rule }) => {
      const text = canonicalJson(value);
      return Array.from(itemsOf(rule)).some((one) => canonicalJson(one) === text);
    },
  ],
  ['minimum', numericKeyword('minimum', (value, limit) => compareNumberLiterals(value, limit) >= 0)],
  ['maximum', numericKeyword('maximum', (value, limit) => compareNumberLiterals(value, limit) <= 0)],
  ['exclusiveMinimum', numericKeyword('exclusiveMinimum', (value, limit) => compareNumberLiterals(value, limit) > 0)],
  ['exclusiveMaximum', numericKeyword('exclusiveMaximum', (value, limit) => compareNumberLiterals(value, limit) < 0)],
  [
    'multipleOf',
    numericKeyword('multipleOf', (text, by) => {
      const [value, step] = [parseDecimal(text), parseDecimal(by)];
      if (!value || !step || step.units === 0n) throw new UnsupportedKeyword('multipleOf');
      return isMultipleOf(value, step);
    }),
  ],
  [
    'minLength',
    ({ value, rule }) => kindOf(value) !== 'string' || characterCount(value) >= countLimit(rule, 'minLength'),
  ],
  [
    'maxLength',
    ({ value, rule }) => kindOf(value) !== 'string' || characterCount(value) <= countLimit(rule, 'maxLength'),
  ],
  [
    'pattern',
    ({ value }) => {
      // To try a regular expression of a stranger could take forever.
      if (kindOf(value) === 'string') throw new UnsupportedKeyword('pattern');
      return true;
    },
  ],
]);

/** The number under a keyword that bounds a count. Throws Unsure where it is none. */
export function countLimit(rule: JsonNode, keyword: string): number {
  if (kindOf(rule) !== 'number') throw new UnsupportedKeyword(keyword);
  return Number(rawText(rule));
}

function numericKeyword(keyword: string, isWithin: (value: string, rule: string) => boolean): KeywordCheck {
  return ({ value, rule }) => {
    if (kindOf(value) !== 'number') return true;
    if (kindOf(rule) !== 'number') throw new UnsupportedKeyword(keyword);
    return isWithin(rawText(value), rawText(rule));
  };
}

function isOfType(value: JsonNode, type: string): boolean {
  const kind = kindOf(value);
  if (type === 'integer') return kind === 'number' && isIntegerLiteral(rawText(value));
  return type === (kind === 'list' ? 'array' : kind);
}

// As JSON Schema counts: characters, not the units of UTF-16.
function characterCount(value: JsonNode): number {
  return [...stringOf(value)].length;
}
