import type { AnySchemaObject } from 'ajv';
import { errorMessage } from '../../errors.ts';
import { compareNumberLiterals } from '../../json/number-literal.ts';
import { isRecord } from '../../json/write-json.ts';
import { fieldError } from '../responses.ts';
import { createSchemaCheck, parseSchema, type Schema } from './json-schema.ts';
import { firstValid, matchingText } from './pattern.ts';

const MAX_SCHEMA_CHARS = 256 * 1024;
const MAX_STEPS = 100_000;
const TYPES = ['null', 'boolean', 'number', 'string', 'array', 'object'];
// Readers that check formats would refuse an empty string.
const FORMAT_SAMPLES = new Map([
  ['date-time', '1970-01-01T00:00:00Z'],
  ['date', '1970-01-01'],
  ['time', '00:00:00Z'],
  ['duration', 'P1D'],
  ['uuid', '00000000-0000-0000-0000-000000000000'],
  ['email', 'a@example.com'],
  ['hostname', 'example.com'],
  ['ipv4', '0.0.0.0'],
  ['ipv6', '::'],
  ['uri', 'http://example.com'],
]);

/** The JSON text of a small value that conforms to the JSON Schema in a field; formats are not checked. Throws HttpError 400. */
export function smallestValue(schemaText: string, field: string): string {
  try {
    if (schemaText.length > MAX_SCHEMA_CHARS) throw new Error(`it has more than ${MAX_SCHEMA_CHARS} characters`);
    // A double would silently round the bounds of snowflake ids and the like.
    for (const [literal] of schemaText.matchAll(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g))
      if (!literal.startsWith('"') && compareNumberLiterals(literal, String(Number(literal))) !== 0)
        throw new Error(`a double cannot hold its number ${literal}`);
    const root = parseSchema(schemaText);
    const problemOf = createSchemaCheck(root);
    return JSON.stringify(firstValid((variant) => build([root], [], createScope(root, variant)), problemOf));
  } catch (error) {
    // JavaScript throws if nesting is too deep.
    const problem = `is a JSON Schema to which no value conforms that the built-in model found: ${errorMessage(error)}`;
    throw fieldError(field, problem);
  }
}

interface Scope {
  readonly root: Schema;
  /** The number of the alternatives, and how much larger values are than the smallest. */
  readonly variant: number;
  /** Counts steps. Throws RangeError when there are too many. */
  readonly spend: (steps: number) => void;
}

function createScope(root: Schema, variant: number): Scope {
  let steps = 0;
  const spend = (count: number): void => {
    steps += count;
    if (!(steps <= MAX_STEPS)) throw new RangeError(`it takes more than ${MAX_STEPS} steps`);
  };
  return { root, variant, spend };
}

// What a value must conform to: a schema, what it refers to, and one of its alternatives that is not again inside itself.
function partsOf(schema: Schema, enclosing: readonly Schema[], scope: Scope): AnySchemaObject[] {
  scope.spend(1);
  if (schema === false) throw new Error('the schema allows no value');
  if (schema === true) return [];
  if (enclosing.includes(schema)) throw new Error('its $ref requires the same value inside itself');
  const { $ref, allOf = [], anyOf = [], oneOf = [] } = schema;
  const targetOf = (reference: string): Schema => resolveReference(scope.root, reference);
  const isOpen = (one: Schema): boolean =>
    typeof one === 'boolean' || one.$ref === undefined || !enclosing.includes(targetOf(one.$ref));
  const chosen = [anyOf, oneOf].flatMap((list: Schema[]) => choose(list.filter(isOpen), scope) ?? list.slice(0, 1));
  const inner = [...($ref === undefined ? [] : [targetOf($ref)]), ...allOf, ...chosen];
  return [schema, ...inner.flatMap((one) => partsOf(one, [...enclosing, schema], scope))];
}

function choose<T>(list: readonly T[], { variant }: Scope): T | undefined {
  return list[variant % list.length];
}

// A value for all of the schemas; `place` is its number among values that differ.
function build(schemas: readonly Schema[], enclosing: readonly Schema[], scope: Scope, place = 0): unknown {
  const parts = schemas.flatMap((schema) => partsOf(schema, enclosing, scope));
  const inside = [...enclosing, ...parts];
  const all = (keyword: string) => parts.flatMap((part) => (part[keyword] === undefined ? [] : [part[keyword]]));
  const least = (keyword: string): number => Math.max(0, ...all(keyword));
  const distance = scope.variant + place;
  const [values] = [...all('const').map((value) => [value]), ...all('enum')];
  if (values) {
    const value = values[distance % values.length];
    scope.spend(JSON.stringify(value).length);
    return value;
  }
  const [types = parts.some(({ properties, required }) => properties ?? required) ? ['object'] : TYPES] = all('type');
  switch (choose([types].flat(), scope)) {
    case 'object': {
      const names = new Set<string>(all('required').flat());
      for (const name of all('properties').flatMap(Object.keys))
        if (names.size < least('minProperties')) names.add(name);
      for (; names.size < least('minProperties'); scope.spend(1)) names.add(`property${names.size + 1}`);
      const schemaOf = (name: string, { properties = {}, additionalProperties = true }: AnySchemaObject): Schema =>
        Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
      const member = (name: string) => {
        const ofName = parts.map((part) => schemaOf(name, part));
        return [name, build(ofName, inside, scope)] as const;
      };
      return Object.fromEntries(Array.from(names, member));
    }
    case 'array': {
      const items: unknown[] = [];
      const isUnique = all('uniqueItems').includes(true);
      for (let at = 0; at < least('minItems'); at += 1) {
        const ofItem = parts.map((part): Schema => part.prefixItems?.[at] ?? part.items ?? true);
        items.push(build(ofItem, inside, scope, isUnique ? at : 0));
      }
      return items;
    }
    case 'string': {
      const [chars, pattern] = [least('minLength'), choose(all('pattern'), scope)];
      scope.spend(chars);
      if (pattern !== undefined) return matchingText(pattern, distance, chars);
      const [format = ''] = all('format').flatMap((name) => FORMAT_SAMPLES.get(name) ?? []);
      return format.padEnd(chars + distance, 'a');
    }
    case 'boolean':
      return distance % 2 === 1;
    case 'null':
      return null;
    default:
      return numberOf(all, distance);
  }
}

// Multiples from the bound that is nearest to 0 outward, or the middle of a range without any.
function numberOf(all: (keyword: string) => number[], distance: number): number {
  const least = Math.max(...['minimum', 'exclusiveMinimum'].flatMap(all));
  const most = Math.min(...['maximum', 'exclusiveMaximum'].flatMap(all));
  const step = Math.max(...all('multipleOf'), 0) || 1;
  const start = least > 0 ? Math.ceil(least / step) : most < 0 ? Math.floor(most / step) : 0;
  const value = (start + (most > 0 ? distance : -distance)) * step;
  // Without the error of the last digits: 3 × 0.1 is 0.3.
  if (distance === 0 || (value >= least && value <= most)) return Number(value.toPrecision(16));
  return (least + most) / 2;
}

function resolveReference(root: Schema, reference: string): Schema {
  const [base = '', fragment = ''] = reference.split('#');
  const isInside = base === '' || (typeof root === 'object' && base === root.$id);
  if (!isInside || !/^(\/|$)/.test(fragment)) throw new Error(`$ref ${reference} is not supported; use #/$defs/...`);
  let target: unknown = root;
  for (const name of decodeURIComponent(fragment).split('/').slice(1)) {
    const key = name.replaceAll('~1', '/').replaceAll('~0', '~');
    target = Object.hasOwn(Object(target), key) ? Reflect.get(Object(target), key) : undefined;
  }
  if (typeof target === 'boolean' || isRecord(target)) return target;
  throw new Error(`$ref ${reference} has no target`);
}
