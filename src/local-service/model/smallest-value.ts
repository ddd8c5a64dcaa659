import { isDeepStrictEqual } from 'node:util';
import type { AnySchemaObject } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { errorMessage } from '../../errors.ts';
import { runWithTimeLimit } from '../../fields/run-with-time-limit.ts';
import { isRecord } from '../../json/is-record.ts';
import { formatJsonPath, type JsonPath } from '../../json/json-node.ts';
import { compareNumberLiterals } from '../../json/number-literal.ts';
import { memoize } from '../memoize.ts';
import { HttpError } from '../responses.ts';
import { createStepCounter, parsePattern } from './pattern.ts';
import { upgradeSchema } from './schema-draft.ts';
import { propertySchemas, type Schema, type SchemaScope, schemaMismatch } from './schema-mismatch.ts';

const MAX_SCHEMA_CHARS = 256 * 1024;
const DIALECT = 'https://json-schema.org/draft/2020-12/schema';
const AJV_OPTIONS = { strict: false, logger: false, validateFormats: false, multipleOfPrecision: 9 } as const;
const dialect = new Ajv2020(AJV_OPTIONS);

// Readers that check formats would refuse an empty string.
const FORMAT_SAMPLES: ReadonlyMap<unknown, string> = new Map([
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
const TYPES = ['null', 'boolean', 'number', 'string', 'array', 'object'];
// Other values of a type, for `not`, `uniqueItems` and the like.
const VARIANTS = [...Array(100).keys()];
const MAX_EXACT_DIGITS = 15;

/**
 * The JSON text of a small value that conforms to a JSON Schema (2020-12); formats are not checked. Throws HttpError 400 that
 * names the keyword in the way.
 */
export function smallestValue(schemaText: string): string {
  try {
    if (schemaText.length > MAX_SCHEMA_CHARS) throw new Error(`it has more than ${MAX_SCHEMA_CHARS} characters`);
    requireExactNumbers(schemaText);
    const schema = parseSchema(schemaText);
    requireSchema(schema);
    const spend = createStepCounter();
    const resolve = (reference: string): Schema => {
      const target = resolveReference(schema, reference);
      spend(target === schema ? 1 : (JSON.stringify(target)?.length ?? 1));
      requireSchema(target);
      return target;
    };
    const patternOf = memoize((source) => parsePattern(source, spend));
    const scope = { root: schema, spend, resolve: memoize(resolve), patternOf };
    return JSON.stringify(buildAt([schema], { path: [], enclosing: [], taken: [] }, scope));
  } catch (error) {
    // JavaScript throws if nesting is too deep.
    throw new HttpError(
      400,
      `the built-in model found no value that conforms to this JSON Schema: ${errorMessage(error)}`,
    );
  }
}

/** Returns a check that says what is wrong with a JSON text; formats are not checked. Throws Error for an invalid schema. */
export function createJsonSchemaCheck(schemaText: string): (valueText: string) => string | undefined {
  const validate = new Ajv2020(AJV_OPTIONS).compile(parseSchema(schemaText));
  return (valueText) => {
    try {
      const isValid = runWithTimeLimit(() => validate(JSON.parse(valueText)) === true);
      return isValid ? undefined : dialect.errorsText(validate.errors, { dataVar: '$' });
    } catch (error) {
      return `could not be checked: ${errorMessage(error)}`;
    }
  };
}

function parseSchema(text: string): Schema {
  const schema: Schema = JSON.parse(text);
  if (typeof schema === 'boolean') return schema;
  if (typeof schema !== 'object' || schema === null) throw new Error('not an object');
  return { ...upgradeSchema(schema), $schema: DIALECT };
}

function requireSchema(schema: unknown): asserts schema is Schema {
  if (typeof schema === 'boolean' || (isRecord(schema) && dialect.validateSchema(schema))) return;
  throw new Error(isRecord(schema) ? dialect.errorsText(dialect.errors, { dataVar: 'schema' }) : 'not a schema');
}

// A double would silently round the bounds of snowflake ids and the like.
function requireExactNumbers(text: string): void {
  for (const [literal] of text.matchAll(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g)) {
    if (!literal.startsWith('"') && compareNumberLiterals(literal, String(Number(literal))) !== 0)
      throw new Error(`a double cannot hold its number ${literal}`);
  }
}

interface Place {
  readonly path: JsonPath;
  /** The schemas of each enclosing value: one that is required again inside itself has no end. */
  readonly enclosing: readonly (readonly Schema[])[];
  /** Values of the same array, if they must differ. */
  readonly taken: readonly unknown[];
}

// The first value that conforms to all of the schemas, of the first of their alternatives that has one.
function buildAt(schemas: readonly Schema[], place: Place, scope: SchemaScope): unknown {
  const demands = [...new Set(schemas)];
  const fail = (reason: string): Error => new Error(`${formatJsonPath(place.path) || 'the value'}: ${reason}`);
  if (place.enclosing.some((outer) => outer.length === demands.length && outer.every((one) => demands.includes(one))))
    throw fail('its $ref requires the same value inside itself');
  let conflict: unknown;
  for (const parts of alternatives(demands, scope)) {
    for (const type of typesOf(parts)) {
      try {
        for (const value of candidates(type, parts, { ...place, enclosing: [...place.enclosing, demands] }, scope)) {
          scope.spend(1 + place.taken.length);
          const isTaken = place.taken.some((one) => isDeepStrictEqual(one, value));
          const mismatch = isTaken ? 'uniqueItems' : firstMismatch(value, parts, scope);
          if (mismatch === undefined) return value;
          conflict ??= fail(`no value that svc can build matches its ${mismatch}`);
        }
      } catch (error) {
        if (error instanceof RangeError) throw error;
        conflict ??= error;
      }
    }
  }
  throw conflict ?? fail('the schema allows no value here');
}

// Inner schemas first: they name the keyword, where outer ones name `allOf`.
function firstMismatch(value: unknown, parts: readonly Schema[], scope: SchemaScope): string | undefined {
  for (const part of parts.toReversed()) {
    const mismatch = schemaMismatch(value, part, scope);
    if (mismatch !== undefined) return mismatch;
  }
  return undefined;
}

// Each list of schemas, without references and alternatives, that together require what the given ones require.
function* alternatives(
  [schema, ...rest]: readonly Schema[],
  scope: SchemaScope,
  found: readonly AnySchemaObject[] = [],
): Generator<readonly AnySchemaObject[]> {
  scope.spend(1 + rest.length + found.length);
  if (schema === undefined) yield found;
  else if (schema === true || (schema !== false && found.includes(schema))) yield* alternatives(rest, scope, found);
  else if (schema !== false) {
    const { $ref, allOf = [], anyOf = [true], oneOf = [true] } = schema;
    const target = $ref === undefined ? [] : [scope.resolve($ref)];
    for (const any of anyOf)
      for (const one of oneOf) yield* alternatives([...target, ...allOf, any, one, ...rest], scope, [...found, schema]);
  }
}

function typesOf(parts: readonly AnySchemaObject[]): readonly string[] {
  const [types] = parts.flatMap(({ type }) => (type === undefined ? [] : [[type].flat()]));
  return types ?? (parts.some(({ properties, required }) => properties ?? required) ? ['object', ...TYPES] : TYPES);
}

function candidates(
  type: string,
  parts: readonly AnySchemaObject[],
  place: Place,
  scope: SchemaScope,
): Iterable<unknown> {
  const [values] = parts.flatMap((part) =>
    part.const === undefined ? (part.enum ? [part.enum] : []) : [[part.const]],
  );
  if (values) {
    scope.spend(JSON.stringify(values).length);
    return values;
  }
  switch (type) {
    case 'object':
      return [buildObject(parts, place, scope)];
    case 'array':
      return [buildArray(parts, place, scope)];
    case 'string':
      return stringCandidates(parts, scope);
    case 'boolean':
      return [false, true];
    case 'null':
      return [null];
    default:
      return numberCandidates(parts);
  }
}

function buildObject(parts: readonly AnySchemaObject[], place: Place, scope: SchemaScope): unknown {
  const names = new Set<string>(valuesOf(parts, 'required').flat());
  const least = Math.max(0, ...valuesOf(parts, 'minProperties'));
  for (const name of valuesOf(parts, 'properties').flatMap(Object.keys)) if (names.size < least) names.add(name);
  for (let at = 1; names.size < least; at += 1) {
    scope.spend(1);
    names.add(`property${at}`);
  }
  const build = (name: string): unknown => {
    const schemas = parts.flatMap((part) => propertySchemas(name, part, scope));
    return buildAt(schemas, { ...place, path: [...place.path, name], taken: [] }, scope);
  };
  return Object.fromEntries(Array.from(names, (name) => [name, build(name)]));
}

function buildArray(parts: readonly AnySchemaObject[], place: Place, scope: SchemaScope): unknown {
  const length = Math.max(0, ...valuesOf(parts, 'minItems'));
  const isUnique = parts.some(({ uniqueItems }) => uniqueItems);
  const items: unknown[] = [];
  while (items.length < length) {
    const schemas = parts.map((part) => part.prefixItems?.[items.length] ?? part.items ?? true);
    const path = [...place.path, items.length];
    items.push(buildAt(schemas, { ...place, path, taken: isUnique ? items : [] }, scope));
  }
  return items;
}

function* stringCandidates(parts: readonly AnySchemaObject[], { patternOf, spend }: SchemaScope): Generator<string> {
  const least = Math.max(0, ...valuesOf(parts, 'minLength'));
  const patterns = valuesOf(parts, 'pattern').map(patternOf);
  const [format = ''] = valuesOf(parts, 'format').flatMap((name) => FORMAT_SAMPLES.get(name) ?? []);
  for (const added of VARIANTS) {
    spend(least + added);
    if (patterns.length === 0) yield format.padEnd(least + added, 'a');
    for (const { sample } of patterns) yield sample(least + added);
  }
}

// Multiples from the bound that is nearest to 0 outward, or the middle of a range without any.
function* numberCandidates(parts: readonly AnySchemaObject[]): Generator<number> {
  const least = Math.max(...['minimum', 'exclusiveMinimum'].flatMap((name) => valuesOf(parts, name)));
  const most = Math.min(...['maximum', 'exclusiveMaximum'].flatMap((name) => valuesOf(parts, name)));
  const steps = valuesOf(parts, 'multipleOf');
  const step = steps.length > 0 ? Math.max(...steps) : 1;
  const start = least > 0 ? Math.ceil(least / step) : most < 0 ? Math.floor(most / step) : 0;
  for (const distance of VARIANTS) {
    const value = (start + (most > 0 ? distance : -distance)) * step;
    // Without the error of the last digits: 3 × 0.1 is 0.3.
    yield Number.isInteger(step) ? value : Number(value.toPrecision(MAX_EXACT_DIGITS));
  }
  yield (least + most) / 2;
}

function valuesOf(parts: readonly AnySchemaObject[], keyword: string) {
  return parts.flatMap((part) => (part[keyword] === undefined ? [] : [part[keyword]]));
}

function resolveReference(root: Schema, reference: string): unknown {
  const [base = '', fragment = ''] = reference.split('#');
  const isInside = base === '' || (typeof root === 'object' && base === root.$id);
  if (!isInside || !/^(\/|$)/.test(fragment)) throw new Error(`$ref ${reference} is not supported; use #/$defs/...`);
  let target: unknown = root;
  for (const key of decodeURIComponent(fragment).split('/').slice(1)) {
    const name = key.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof target !== 'object' || target === null || !Object.hasOwn(target, name))
      throw new Error(`$ref ${reference} has no target`);
    target = Reflect.get(target, name);
  }
  return target;
}
