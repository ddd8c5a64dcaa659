import { itemsOf, type JsonNode, kindOf, stringOf, textOf } from '../../json/node.ts';
import { compareNumbers, isInteger } from '../../json/number.ts';
import { canonical } from './canonical.ts';
import type { Check } from './check.ts';
import { decimalOf, isMultiple } from './decimal.ts';
import { Unsure } from './unsure.ts';

/** The checks of keywords about a value as a whole, a number or a string. */
export const scalarChecks: ReadonlyMap<string, Check> = new Map<string, Check>([
  [
    'type',
    ({ value, rule }) =>
      (kindOf(rule) === 'string' ? [rule] : Array.from(itemsOf(rule))).some((name) => isOfType(value, stringOf(name))),
  ],
  ['const', ({ value, rule }) => canonical(value) === canonical(rule)],
  [
    'enum',
    ({ value, rule }) => {
      const text = canonical(value);
      return Array.from(itemsOf(rule)).some((one) => canonical(one) === text);
    },
  ],
  ['minimum', numeric('minimum', (value, limit) => compareNumbers(value, limit) >= 0)],
  ['maximum', numeric('maximum', (value, limit) => compareNumbers(value, limit) <= 0)],
  ['exclusiveMinimum', numeric('exclusiveMinimum', (value, limit) => compareNumbers(value, limit) > 0)],
  ['exclusiveMaximum', numeric('exclusiveMaximum', (value, limit) => compareNumbers(value, limit) < 0)],
  [
    'multipleOf',
    numeric('multipleOf', (text, by) => {
      const [value, step] = [decimalOf(text), decimalOf(by)];
      if (!value || !step || step.units === 0n) throw new Unsure('multipleOf');
      return isMultiple(value, step);
    }),
  ],
  ['minLength', ({ value, rule }) => kindOf(value) !== 'string' || lengthOf(value) >= limitOf(rule, 'minLength')],
  ['maxLength', ({ value, rule }) => kindOf(value) !== 'string' || lengthOf(value) <= limitOf(rule, 'maxLength')],
  [
    'pattern',
    ({ value }) => {
      // To try a regular expression of a stranger could take forever.
      if (kindOf(value) === 'string') throw new Unsure('pattern');
      return true;
    },
  ],
]);

/** The number under a keyword that bounds a count. Throws Unsure where it is none. */
export function limitOf(rule: JsonNode, keyword: string): number {
  if (kindOf(rule) !== 'number') throw new Unsure(keyword);
  return Number(textOf(rule));
}

function numeric(keyword: string, holds: (value: string, rule: string) => boolean): Check {
  return ({ value, rule }) => {
    if (kindOf(value) !== 'number') return true;
    if (kindOf(rule) !== 'number') throw new Unsure(keyword);
    return holds(textOf(value), textOf(rule));
  };
}

function isOfType(value: JsonNode, type: string): boolean {
  const kind = kindOf(value);
  if (type === 'integer') return kind === 'number' && isInteger(textOf(value));
  return type === (kind === 'list' ? 'array' : kind);
}

// As JSON Schema counts: characters, not the units of UTF-16.
function lengthOf(value: JsonNode): number {
  return [...stringOf(value)].length;
}
