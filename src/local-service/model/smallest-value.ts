import { Ajv2020, type AnySchemaObject } from 'ajv/dist/2020.js';
import { errorMessage } from '../../errors.ts';
import { runWithTimeLimit } from '../../fields/run-with-time-limit.ts';
import { compareNumberLiterals } from '../../json/number-literal.ts';
import { HttpError } from '../http-error.ts';
import { initialValue, repairedValues } from './repaired-values.ts';

const MAX_SCHEMA_CHARS = 256 * 1024;
const MAX_VALUE_CHARS = 256 * 1024;
// Of all values that are tried; checking a value takes more than writing it.
const MAX_SEARCH_CHARS = 2 * 1024 * 1024;
const CHECK_CHARS = 64;
const MAX_PROPERTY_NAMES = 100;
// A value that is nested more deeply has a schema that requires itself.
const MAX_DEPTH = 32;
const DIALECT = 'https://json-schema.org/draft/2020-12/schema';
const AJV_OPTIONS = { strict: false, logger: false, validateFormats: false, multipleOfPrecision: 9 } as const;
const SEARCH_OPTIONS = {
  ...AJV_OPTIONS,
  meta: false,
  validateSchema: false,
  ownProperties: true,
  verbose: true,
} as const;
const dialect = new Ajv2020(AJV_OPTIONS);
// Compiled here, outside the time limit: ajv cannot be used any more after an interrupted compilation.
dialect.validateSchema({});

type Schema = boolean | AnySchemaObject;

/**
 * The JSON text of a small value that a JSON Schema (2020-12) allows; formats are not checked. Throws HttpError 400 where
 * it finds none, naming a keyword in the way, or if the search exceeds its limits.
 */
export function smallestValue(schemaText: string): string {
  try {
    if (schemaText.length > MAX_SCHEMA_CHARS) throw new Error(`it has more than ${MAX_SCHEMA_CHARS} characters`);
    requireExactNumbers(schemaText);
    const schema = parseSchema(schemaText);
    if (!dialect.validateSchema(schema)) throw new Error(dialect.errorsText(dialect.errors, { dataVar: 'schema' }));
    // Compiling a schema, matching its patterns and following its references can take any time.
    return runWithTimeLimit(() => searchValue(schema));
  } catch (error) {
    // ajv throws for a reference without a target and for an invalid pattern, JavaScript if nesting is too deep.
    throw new HttpError(
      400,
      `the built-in model found no value that conforms to this JSON Schema: ${errorMessage(error)}`,
    );
  }
}

/**
 * A check of JSON values against a JSON Schema (2020-12), which returns what is wrong; formats are not checked. Throws
 * Error for an invalid schema.
 */
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

// Schemas of other drafts are read as 2020-12.
function parseSchema(text: string): Schema {
  const schema: Schema = JSON.parse(text);
  if (typeof schema === 'boolean') return schema;
  if (typeof schema !== 'object' || schema === null) throw new Error('not an object');
  return { ...schema, $schema: DIALECT };
}

// A double would silently round the bounds of snowflake ids and the like.
function requireExactNumbers(text: string): void {
  for (const [literal] of text.matchAll(/"(?:[^"\\]+|\\.)*"|-?\d[\d.eE+-]*/g)) {
    if (!literal.startsWith('"') && compareNumberLiterals(literal, String(Number(literal))) !== 0)
      throw new Error(`a double cannot hold its number ${literal}`);
  }
}

// Repairs a first value, one error after the other, until none is left. If that fails, another repair of an
// earlier error is tried, the smallest value first.
function searchValue(schema: Schema): string {
  const validate = new Ajv2020(SEARCH_OPTIONS).compile(schema);
  // It would reject a promise that is never awaited.
  if ('$async' in validate) throw new Error('$async is not supported');
  const names = [...new Set(propertyNames(schema))].slice(0, MAX_PROPERTY_NAMES);
  const untried = [JSON.stringify(initialValue(schema))];
  const found = new Set(untried);
  let remainingChars = MAX_SEARCH_CHARS;
  let conflict: string | undefined;
  for (let text = untried.pop(); text !== undefined; text = untried.pop()) {
    const value: unknown = JSON.parse(text);
    if (validate(value)) return text;
    const errors = (validate.errors ?? []).filter(({ instancePath }) => instancePath.split('/').length <= MAX_DEPTH);
    const keyword = errors.at(-1)?.keyword ?? '$ref';
    const candidates: string[] = [];
    for (const repaired of errors.flatMap((error) => repairedValues(value, error, names))) {
      const candidate = JSON.stringify(repaired);
      remainingChars -= candidate.length + CHECK_CHARS;
      if (remainingChars < 0) throw new Error(`too many values do not match its ${keyword}`);
      if (candidate.length > MAX_VALUE_CHARS || found.has(candidate)) continue;
      found.add(candidate);
      candidates.push(candidate);
    }
    if (candidates.length === 0) conflict ??= keyword;
    untried.push(...candidates.reverse().sort((left, right) => right.length - left.length));
  }
  throw new Error(`no sample matches its ${conflict}`);
}

function* propertyNames(schema: unknown): Generator<string> {
  if (typeof schema !== 'object' || schema === null) return;
  for (const [key, inner] of Object.entries(schema)) {
    if (key === 'properties' && typeof inner === 'object' && inner !== null) yield* Object.keys(inner);
    yield* propertyNames(inner);
  }
}
