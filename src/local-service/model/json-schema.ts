import type { AnySchemaObject } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { errorMessage } from '../../errors.ts';
import { runWithTimeLimit } from '../../http/time-limits.ts';
import { isRecord } from '../../json/write-json.ts';

export type Schema = boolean | AnySchemaObject;

const DIALECT = 'https://json-schema.org/draft/2020-12/schema';
const AJV_OPTIONS = { strict: false, logger: false, validateFormats: false, multipleOfPrecision: 9 } as const;

/** Returns a check that says what is wrong with a JSON text; formats are not checked. Throws Error for an invalid schema. */
export function createJsonSchemaCheck(schemaText: string): (valueText: string) => string | undefined {
  const check = createSchemaCheck(parseSchema(schemaText));
  return (valueText) => {
    try {
      return runWithTimeLimit(() => check(JSON.parse(valueText)));
    } catch (error) {
      return `could not be checked: ${errorMessage(error)}`;
    }
  };
}

/** The same without a limit of its time: patterns and references can make it run forever. */
export function createSchemaCheck(schema: Schema): (value: unknown) => string | undefined {
  const ajv = new Ajv2020(AJV_OPTIONS);
  const validate = ajv.compile(schema);
  return (value) => (validate(value) === true ? undefined : ajv.errorsText(validate.errors, { dataVar: '$' }));
}

/** Throws Error for a text that is not the JSON of a schema. */
export function parseSchema(text: string): Schema {
  const schema: Schema = JSON.parse(text);
  if (typeof schema === 'boolean') return schema;
  if (typeof schema !== 'object' || schema === null) throw new Error('not an object');
  // Ajv would respond to $async with a promise.
  return { ...upgradeSchema(schema), $schema: DIALECT, $async: false };
}

// Their values are data, or map names to schemas.
const DATA_KEYWORDS = /^(const|default|enum|examples?)$/;
const MAP_KEYWORDS = /^(\$defs|definitions|dependencies|dependentSchemas|patternProperties|properties)$/;

// A schema of an older draft in the words of 2020-12: arrays of `items` are tuples, bounds of draft-04 are exclusive by a flag,
// and up to draft-07 `$ref` stands alone. Without `$schema`, only forms that 2020-12 does not have are rewritten.
function upgradeSchema(schema: AnySchemaObject): AnySchemaObject {
  const dialect = String(schema.$schema ?? '');
  if (dialect.includes('2020-12')) return schema;
  const isDraft4 = /draft-0?[34]\b/.test(dialect);
  const isReferenceAlone = /draft-0?\d\b/.test(dialect);
  const upgradeMap = (map: unknown): unknown =>
    isRecord(map) ? Object.fromEntries(Object.entries(map).map(([name, one]) => [name, upgrade(one)])) : map;
  const upgrade = (one: unknown): unknown => {
    if (Array.isArray(one)) return one.map(upgrade);
    if (!isRecord(one)) return one;
    const { items, additionalItems, id, ...others } = one;
    const renamed: { [keyword: string]: unknown } = {
      ...others,
      ...(id === undefined || isDraft4 ? {} : { id }),
      ...(Array.isArray(items) ? { prefixItems: items, items: additionalItems } : { items, additionalItems }),
    };
    for (const [flag, bound] of Object.entries({ exclusiveMinimum: 'minimum', exclusiveMaximum: 'maximum' })) {
      if (typeof renamed[flag] !== 'boolean') continue;
      renamed[flag] = renamed[flag] ? renamed[bound] : undefined;
    }
    const entries = Object.entries(renamed).filter(([keyword, value]) => {
      const isApplied = !isReferenceAlone || renamed.$ref === undefined || /^\$|^definitions$/.test(keyword);
      return value !== undefined && isApplied;
    });
    return Object.fromEntries(
      entries.map(([keyword, value]) => {
        if (DATA_KEYWORDS.test(keyword)) return [keyword, value];
        return [keyword, MAP_KEYWORDS.test(keyword) ? upgradeMap(value) : upgrade(value)];
      }),
    );
  };
  const upgraded = upgrade(schema);
  // References to its parts may begin with its id.
  return { ...(isDraft4 && schema.id ? { $id: schema.id } : {}), ...(isRecord(upgraded) ? upgraded : schema) };
}
