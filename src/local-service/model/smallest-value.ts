import { Ajv2020 } from 'ajv/dist/2020.js';
import { errorMessage } from '../../errors.ts';
import { runWithTimeLimit } from '../../fields/run-with-time-limit.ts';
import { isRecord } from '../../json/is-record.ts';
import { compareNumberLiterals } from '../../json/number-literal.ts';
import { HttpError } from '../responses.ts';
import { buildValue } from './build-value.ts';
import type { Schema } from './schema-mismatch.ts';

const MAX_SCHEMA_CHARS = 256 * 1024;
const DIALECT = 'https://json-schema.org/draft/2020-12/schema';
const AJV_OPTIONS = { strict: false, logger: false, validateFormats: false, multipleOfPrecision: 9 } as const;
const dialect = new Ajv2020(AJV_OPTIONS);

/**
 * The JSON text of a small value that conforms to a JSON Schema (2020-12); formats are not checked. It is built from the
 * structure of the schema, in a limited number of steps. Throws HttpError 400 that names the keyword in the way.
 */
export function smallestValue(schemaText: string): string {
  try {
    if (schemaText.length > MAX_SCHEMA_CHARS) throw new Error(`it has more than ${MAX_SCHEMA_CHARS} characters`);
    requireExactNumbers(schemaText);
    const schema = parseSchema(schemaText);
    requireSchema(schema);
    return JSON.stringify(buildValue(schema, requireSchema));
  } catch (error) {
    // JavaScript throws if nesting is too deep.
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
