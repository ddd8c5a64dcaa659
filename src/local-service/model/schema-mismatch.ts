import { isDeepStrictEqual } from 'node:util';
import type { AnySchemaObject } from 'ajv';
import { isRecord } from '../../json/is-record.ts';
import type { Pattern } from './pattern.ts';

export type Schema = boolean | AnySchemaObject;

export interface SchemaScope {
  readonly root: Schema;
  /** Counts steps. Throws RangeError when there are too many. */
  readonly spend: (steps: number) => void;
  readonly resolve: (reference: string) => Schema;
  readonly patternOf: (source: string) => Pattern;
}

type Check<T> = (value: T, schema: AnySchemaObject, scope: SchemaScope) => boolean;
type Checks<T> = { readonly [keyword: string]: Check<T> };

const UNSUPPORTED_KEYWORD =
  /^(\$dynamicRef|contains|dependencies|dependent(Required|Schemas)|if|unevaluated(Items|Properties))$/;
const MAX_MULTIPLE_ERROR = 1e-9;

/** The keyword of a schema (2020-12) that a value does not conform to; formats are not checked. Throws Error for unsupported ones. */
export function schemaMismatch(value: unknown, schema: Schema, scope: SchemaScope): string | undefined {
  scope.spend(1 + (typeof value === 'string' || Array.isArray(value) ? value.length : 0));
  if (typeof schema === 'boolean') return schema ? undefined : 'false schema';
  return Object.keys(schema).find((keyword) => {
    if (UNSUPPORTED_KEYWORD.test(keyword) || (keyword === '$id' && schema !== scope.root))
      throw new Error(`${keyword} is not supported`);
    return !conformsToKeyword(keyword, value, schema, scope);
  });
}

function conformsToKeyword(keyword: string, value: unknown, schema: AnySchemaObject, scope: SchemaScope): boolean {
  const applies = <T>(checks: Checks<T>, checked: T): boolean =>
    !Object.hasOwn(checks, keyword) || checks[keyword]?.(checked, schema, scope) !== false;
  if (!applies(generalChecks, value)) return false;
  if (typeof value === 'number') return Number.isFinite(value) && applies(numberChecks, value);
  if (typeof value === 'string') return applies(stringChecks, value);
  if (Array.isArray(value)) return applies(arrayChecks, value);
  return !isRecord(value) || applies(objectChecks, value);
}

/** The schemas that a schema has for a property: its own, those of patterns for its name, or else the one for all others. */
export function propertySchemas(name: string, schema: AnySchemaObject, { patternOf }: SchemaScope): Schema[] {
  const { properties = {}, patternProperties = {}, additionalProperties = true } = schema;
  const named: Schema[] = Object.hasOwn(properties, name) ? [properties[name]] : [];
  for (const [pattern, inner] of Object.entries<Schema>(patternProperties))
    if (patternOf(pattern).isMatch(name)) named.push(inner);
  return named.length > 0 ? named : [additionalProperties];
}

function conforms(value: unknown, schema: Schema, scope: SchemaScope): boolean {
  return schemaMismatch(value, schema, scope) === undefined;
}

const generalChecks: Checks<unknown> = {
  type: (value, { type }) => [type].flat().some((one) => typeChecks.get(one)?.(value) ?? typeof value === one),
  const: (value, schema) => isDeepStrictEqual(value, schema.const),
  enum: (value, schema, { spend }) => {
    spend(schema.enum.length);
    return schema.enum.some((one: unknown) => isDeepStrictEqual(value, one));
  },
  $ref: (value, { $ref }, scope) => conforms(value, scope.resolve($ref), scope),
  allOf: (value, { allOf }, scope) => allOf.every((one: Schema) => conforms(value, one, scope)),
  anyOf: (value, { anyOf }, scope) => anyOf.some((one: Schema) => conforms(value, one, scope)),
  oneOf: (value, { oneOf }, scope) => oneOf.filter((one: Schema) => conforms(value, one, scope)).length === 1,
  not: (value, { not }, scope) => !conforms(value, not, scope),
};

const numberChecks: Checks<number> = {
  minimum: (value, { minimum }) => value >= minimum,
  maximum: (value, { maximum }) => value <= maximum,
  exclusiveMinimum: (value, { exclusiveMinimum }) => value > exclusiveMinimum,
  exclusiveMaximum: (value, { exclusiveMaximum }) => value < exclusiveMaximum,
  multipleOf: (value, { multipleOf }) =>
    Math.abs(value / multipleOf - Math.round(value / multipleOf)) < MAX_MULTIPLE_ERROR,
};

const stringChecks: Checks<string> = {
  minLength: (value, { minLength }) => Array.from(value).length >= minLength,
  maxLength: (value, { maxLength }) => Array.from(value).length <= maxLength,
  pattern: (value, { pattern }, { patternOf }) => patternOf(pattern).isMatch(value),
};

const arrayChecks: Checks<readonly unknown[]> = {
  minItems: (value, { minItems }) => value.length >= minItems,
  maxItems: (value, { maxItems }) => value.length <= maxItems,
  uniqueItems: (value, { uniqueItems }, { spend }) => {
    if (!uniqueItems) return true;
    spend(value.length ** 2);
    return value.every((one, at) => !value.slice(0, at).some((other) => isDeepStrictEqual(one, other)));
  },
  prefixItems: (value, { prefixItems }, scope) =>
    value.every((one, at) => conforms(one, prefixItems[at] ?? true, scope)),
  items: (value, { items, prefixItems = [] }, scope) =>
    value.slice(prefixItems.length).every((one) => conforms(one, items, scope)),
};

const propertiesCheck: Check<object> = (value, schema, scope) =>
  Object.entries(value).every(([name, inner]) =>
    propertySchemas(name, schema, scope).every((one) => conforms(inner, one, scope)),
  );

const objectChecks: Checks<object> = {
  required: (value, { required }) => required.every((name: string) => Object.hasOwn(value, name)),
  minProperties: (value, { minProperties }) => Object.keys(value).length >= minProperties,
  maxProperties: (value, { maxProperties }) => Object.keys(value).length <= maxProperties,
  properties: propertiesCheck,
  patternProperties: propertiesCheck,
  additionalProperties: propertiesCheck,
  propertyNames: (value, { propertyNames }, scope) =>
    Object.keys(value).every((name) => conforms(name, propertyNames, scope)),
};

const typeChecks = new Map<unknown, (value: unknown) => boolean>([
  ['null', (value) => value === null],
  ['integer', Number.isInteger],
  ['number', Number.isFinite],
  ['array', Array.isArray],
  ['object', isRecord],
]);
