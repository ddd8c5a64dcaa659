import type { ErrorObject } from 'ajv';
import { isRecord } from '../../json/is-record.ts';

/** The possible repairs of the data of an ajv error. `names` are property names of the schema. */
type Repair = (error: ErrorObject, names: readonly string[]) => readonly unknown[];

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

const LETTERS = [...'abcdefghijklmnopqrstuvwxyz'];
const MAX_ADDED_CHARS = 256 * 1024;
const MAX_CHANGED_CHARS = 16;
const MAX_PATTERN_SAMPLE_CHARS = 8;
const MAX_EXACT_DIGITS = 15;

/** The first value to try for a schema: its constant, or the smallest value of its type with the required properties. */
export function initialValue(schema: unknown): unknown {
  if (!isRecord(schema)) return null;
  if (schema.const !== undefined) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  const [type] = [schema.type ?? ((schema.properties ?? schema.required) ? 'object' : 'null')].flat();
  return initialOfType(type, schema);
}

/** Values that differ from `value` in what an error of ajv (with `verbose`) is about, each in another way. */
export function repairedValues(value: unknown, error: ErrorObject, names: readonly string[]): unknown[] {
  const { keyword, instancePath, propertyName } = error;
  const path = instancePath.split('/').slice(1);
  const keys = path.map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
  return (repairs[keyword]?.(error, names) ?? []).map((repaired) =>
    // An error about a name has the path of its object.
    replaceAt(value, keys, (old) =>
      propertyName === undefined ? repaired : renameProperty(old, propertyName, repaired),
    ),
  );
}

// Values begin at 0 and grow, so a maximum is in the way of another keyword unless it is below 0.
const repairs: { readonly [keyword: string]: Repair } = {
  type: ({ data, params, parentSchema }) =>
    [params.type].flat().flatMap((type) => {
      const isFraction = type === 'integer' && typeof data === 'number';
      return isFraction ? [Math.ceil(data), Math.floor(data)] : [initialOfType(type, parentSchema)];
    }),
  const: ({ params }) => [params.allowedValue],
  enum: ({ params }) => params.allowedValues,
  minimum: ({ params }) => [params.limit],
  maximum: ({ params: { limit } }) => (limit < 0 ? [limit] : []),
  exclusiveMinimum: ({ params: { limit }, parentSchema }) => {
    const highest = parentSchema?.exclusiveMaximum ?? parentSchema?.maximum;
    return [limit + 1, (limit + highest) / 2];
  },
  exclusiveMaximum: ({ params: { limit }, parentSchema }) => {
    const lowest = parentSchema?.exclusiveMinimum ?? parentSchema?.minimum;
    return limit > 0 ? [] : [limit - 1, (limit + lowest) / 2];
  },
  multipleOf: ({ data, params: { multipleOf } }) =>
    // Without the error of the last digits: 3 × 0.1 is 0.3.
    [Math.ceil, Math.floor].map((round) =>
      Number((round(Number(data) / multipleOf) * multipleOf).toPrecision(MAX_EXACT_DIGITS)),
    ),
  minLength: ({ data, params: { limit } }) => (limit > MAX_ADDED_CHARS ? [] : [String(data).padEnd(limit, 'a')]),
  pattern: ({ data }) => {
    const text = String(data);
    if (text === '') return LETTERS;
    return text.length < MAX_PATTERN_SAMPLE_CHARS ? [`${text}a`] : [];
  },
  required: addMissingProperty,
  dependentRequired: addMissingProperty,
  minProperties: ({ data }, names) => variantsOf(data, 1, names),
  minItems: ({ data, params: { limit }, parentSchema }) => {
    const { prefixItems = [], items } = parentSchema ?? {};
    const item = initialValue(items);
    if (limit * JSON.stringify(item).length > MAX_ADDED_CHARS || !Array.isArray(data)) return [];
    const added = [...prefixItems.map(initialValue), ...Array(Math.ceil(limit)).fill(item)];
    return [[...data, ...added.slice(data.length, Math.ceil(limit))]];
  },
  contains: ({ data, schema }) => (Array.isArray(data) ? [[...data, initialValue(schema)]] : []),
  uniqueItems: ({ data, params: { i, j } }, names) => {
    const at = Math.max(i, j);
    return Array.isArray(data) ? variantsOf(data[at], at, names).map((variant) => data.with(at, variant)) : [];
  },
  not: changeValue,
  if: changeValue,
  oneOf: (error, names) => (error.params.passingSchemas ? changeValue(error, names) : []),
};

function addMissingProperty({ data, params: { missingProperty }, parentSchema }: ErrorObject): unknown[] {
  if (!isRecord(data)) return [];
  const missing = { [missingProperty]: initialValue(propertySchema(parentSchema, missingProperty)) };
  return [{ ...missing, ...initialObject(parentSchema), ...data }];
}

function changeValue({ data }: ErrorObject, names: readonly string[]): unknown[] {
  const others = [null, false, 0, '', [], {}];
  return JSON.stringify(data).length > MAX_CHANGED_CHARS ? others : [...others, ...variantsOf(data, 1, names)];
}

// Values of the same type; another distance yields other ones.
function variantsOf(value: unknown, distance: number, names: readonly string[]): unknown[] {
  if (typeof value === 'boolean') return [!value];
  if (typeof value === 'number') return [value + distance, value - distance, value + distance / 2];
  if (typeof value === 'string') return [value + LETTERS[distance % LETTERS.length]];
  if (Array.isArray(value)) return [[...value, null]];
  if (!isRecord(value)) return [];
  const unused = [...names, ...LETTERS].filter((name) => !Object.hasOwn(value, name));
  return unused.map((name) => ({ ...value, [name]: null }));
}

function initialOfType(type: unknown, schema: unknown): unknown {
  switch (type) {
    case 'object':
      return initialObject(schema);
    case 'array':
      return [];
    case 'string':
      return (isRecord(schema) && FORMAT_SAMPLES.get(schema.format)) || '';
    case 'boolean':
      return false;
    default:
      return type === 'null' ? null : 0;
  }
}

function initialObject(schema: unknown): Record<string, unknown> {
  const required = isRecord(schema) && Array.isArray(schema.required) ? schema.required : [];
  return Object.fromEntries(required.map((name) => [name, initialValue(propertySchema(schema, name))]));
}

function propertySchema(schema: unknown, name: string): unknown {
  const properties = isRecord(schema) ? schema.properties : undefined;
  return isRecord(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
}

function replaceAt(value: unknown, [key, ...inner]: readonly string[], replace: (old: unknown) => unknown): unknown {
  if (key === undefined) return replace(value);
  if (Array.isArray(value)) return value.with(Number(key), replaceAt(value[Number(key)], inner, replace));
  return isRecord(value) ? { ...value, [key]: replaceAt(value[key], inner, replace) } : value;
}

function renameProperty(value: unknown, from: string, to: unknown): unknown {
  if (!isRecord(value) || typeof to !== 'string') return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name === from ? to : name, inner]));
}
