import { runInNewContext } from 'node:vm';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { compareNumberLiterals } from '../../json/number-literal.ts';
import { HttpError } from '../http-error.ts';
import { type SchemaPart, sampleValues } from './sample-values.ts';

// Compiling a schema, matching its patterns and following its references can take any time.
const SEARCH_TIMEOUT_MS = 3000;
const MAX_SCHEMA_CHARS = 256 * 1024;
const DIALECT = 'https://json-schema.org/draft/2020-12/schema';
const AJV_OPTIONS = { strict: false, logger: false, validateFormats: false, multipleOfPrecision: 9 } as const;
const dialect = new Ajv2020(AJV_OPTIONS);
// Compiled here, outside the time limit: ajv cannot be used any more after an interrupted compilation.
dialect.validateSchema({});

/**
 * The JSON text of a small value that a JSON Schema (2020-12) allows; formats are not checked. Throws HttpError 400 where
 * it finds none, naming a keyword in the way, or where the search exceeds its limits.
 */
export function smallestValue(schemaText: string): string {
  try {
    const schema = parseSchema(schemaText);
    return runInNewContext('search()', { search: () => searchValue(schema) }, { timeout: SEARCH_TIMEOUT_MS });
  } catch (error) {
    // ajv throws for a reference without a target and for an invalid pattern, JavaScript where nesting is too deep.
    const reason = error instanceof Error ? error.message : String(error);
    throw new HttpError(400, `the built-in model found no value of this JSON Schema: ${reason}`);
  }
}

/**
 * A check of JSON values against a JSON Schema (2020-12), which returns what is wrong; formats are not checked. Throws
 * Error for an invalid schema.
 */
export function createJsonSchemaCheck(schemaText: string): (valueText: string) => string | undefined {
  const parsed: SchemaPart = JSON.parse(schemaText);
  if (typeof parsed !== 'boolean' && (typeof parsed !== 'object' || parsed === null)) throw new Error('not an object');
  const validate = new Ajv2020(AJV_OPTIONS).compile(
    typeof parsed === 'boolean' ? parsed : { ...parsed, $schema: DIALECT },
  );
  return (valueText) => {
    const check = (): boolean => validate(JSON.parse(valueText)) === true;
    try {
      const isValid: boolean = runInNewContext('check()', { check }, { timeout: SEARCH_TIMEOUT_MS });
      return isValid ? undefined : dialect.errorsText(validate.errors, { dataVar: '$' });
    } catch (error) {
      return `could not be checked: ${error instanceof Error ? error.message : String(error)}`;
    }
  };
}

function parseSchema(schemaText: string): SchemaPart {
  if (schemaText.length > MAX_SCHEMA_CHARS) throw new Error(`it has more than ${MAX_SCHEMA_CHARS} characters`);
  requireExactNumbers(schemaText);
  const parsed: SchemaPart = JSON.parse(schemaText);
  // Schemas of other drafts are read as 2020-12.
  const schema = typeof parsed === 'boolean' ? parsed : { ...parsed, $schema: DIALECT };
  if (!dialect.validateSchema(schema)) throw new Error(dialect.errorsText(dialect.errors, { dataVar: 'schema' }));
  return schema;
}

function searchValue(schema: SchemaPart): string {
  const ajv = new Ajv2020({ ...AJV_OPTIONS, meta: false, validateSchema: false, inlineRefs: false }).addSchema(
    schema,
    'root',
  );
  const pointers = new Map(pointersIn(schema, 'root#'));
  let conflict: string | undefined;
  const isValid = (value: unknown, part: SchemaPart): boolean => {
    const validate = ajv.getSchema(pointers.get(part) ?? '');
    // It would reject a promise that nobody awaits.
    if (validate && '$async' in validate) throw new Error('$async is not supported');
    if (!validate || validate(value) === true) return true;
    conflict ??= validate.errors?.at(-1)?.keyword;
    return false;
  };
  for (const value of sampleValues(schema, isValid)) if (isValid(value, schema)) return JSON.stringify(value);
  throw new Error(`no sample matches its ${conflict ?? '$ref'}`);
}

// A double would silently round the bounds of snowflake ids and the like.
function requireExactNumbers(text: string): void {
  for (const [literal] of text.matchAll(/"(?:[^"\\]+|\\.)*"|-?\d[\d.eE+-]*/g)) {
    if (!literal.startsWith('"') && compareNumberLiterals(literal, String(Number(literal))) !== 0)
      throw new Error(`a double cannot hold its number ${literal}`);
  }
}

/** Every object in a schema with the reference that ajv finds it by. */
function* pointersIn(value: SchemaPart, pointer: string): Generator<[SchemaPart, string]> {
  if (typeof value !== 'object' || value === null) return;
  yield [value, pointer];
  for (const [key, inner] of Object.entries(value)) {
    const step = encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'));
    yield* pointersIn(inner, `${pointer}/${step}`);
  }
}
