import { Buffer } from 'node:buffer';
import { type JsonNode, kindOf, rawText, rootOf } from '../../../json/json-node.ts';
import { parseJson } from '../../../json/parse-json.ts';
import type { SpendSteps } from '../step-budget.ts';
import { findViolation, isFalseSchema } from './find-violation.ts';
import { generateArrays } from './generate-arrays.ts';
import { generateNumbers } from './generate-numbers.ts';
import { generateObjects } from './generate-objects.ts';
import { generateStrings } from './generate-strings.ts';
import { schemaAlternatives } from './schema-alternatives.ts';
import type { SchemaReader } from './schema-reader.ts';
import { UnsupportedKeyword } from './unsupported-keyword.ts';
import type { ValueGenerator } from './value-generator.ts';

// After so many wrong ones in a row no right one is to be expected.
const MAX_REJECTED_VALUES = 64;

const ALL_TYPES = ['null', 'boolean', 'number', 'string', 'array', 'object'] as const;

/** A maker of values that nest at most `deepest` levels; each value it gives has been checked. */
export function createValueGenerator(
  reader: SchemaReader,
  spend: SpendSteps,
  maxDepth: number,
  reportConflict: ValueGenerator['reportConflict'],
): ValueGenerator {
  const generator: ValueGenerator = { reader, spend, reportConflict, valuesFor };
  return generator;

  function* valuesFor(schemas: readonly JsonNode[], depth: number): Generator<string> {
    if (depth > maxDepth) return reportConflict('$ref');
    for (const parts of schemaAlternatives(schemas, generator)) {
      for (const source of candidateSources(parts, depth, generator)) yield* validValues(source, schemas, generator);
    }
  }
}

function* validValues(
  source: Iterable<string>,
  schemas: readonly JsonNode[],
  generator: ValueGenerator,
): Generator<string> {
  let rejectedCount = 0;
  for (const text of source) {
    const keyword = violatedKeyword(text, schemas, generator);
    if (keyword === undefined) {
      rejectedCount = 0;
      yield text;
      continue;
    }
    generator.reportConflict(keyword);
    rejectedCount += 1;
    if (rejectedCount === MAX_REJECTED_VALUES) return;
  }
}

function violatedKeyword(
  text: string,
  schemas: readonly JsonNode[],
  { reader, spend }: ValueGenerator,
): string | undefined {
  spend(text.length);
  const value = rootOf(parseJson(Buffer.from(text)));
  try {
    for (const schema of schemas) {
      const keyword = findViolation(value, schema, reader);
      if (keyword !== undefined) return keyword;
    }
    return undefined;
  } catch (error) {
    if (error instanceof UnsupportedKeyword) return error.keyword;
    throw error;
  }
}

function candidateSources(parts: readonly JsonNode[], depth: number, generator: ValueGenerator): Iterable<string>[] {
  const { reader, reportConflict } = generator;
  if (parts.some(isFalseSchema)) {
    reportConflict('false');
    return [];
  }
  for (const part of parts) {
    const constant = reader.property(part, 'const');
    const allowed = constant ? [constant] : reader.arrayAt(part, 'enum');
    // Each of its own, because all of them are worth a try.
    if (allowed.length > 0) return allowed.map((one) => [rawText(one)]);
  }
  return candidateTypes(parts, reader).map((type) => candidatesOfType(type, parts, depth, generator));
}

function candidatesOfType(
  type: string,
  parts: readonly JsonNode[],
  depth: number,
  generator: ValueGenerator,
): Iterable<string> {
  const { reader, spend } = generator;
  switch (type) {
    case 'object':
      return generateObjects(parts, depth, generator);
    case 'array':
      return generateArrays(parts, depth, generator);
    case 'string':
      return generateStrings(parts, reader, spend);
    case 'integer':
    case 'number':
      return generateNumbers(
        parts,
        parts.some((part) => declaredTypes(part, reader).includes('integer')),
        reader,
      );
    case 'boolean':
      return ['false', 'true'];
    default:
      return ['null'];
  }
}

// Of a schema in parts the first that names types says which; what only describes members means an object.
function candidateTypes(parts: readonly JsonNode[], reader: SchemaReader): readonly string[] {
  const named = parts.map((part) => declaredTypes(part, reader)).find((types) => types.length > 0);
  if (named) return named;
  const isObject = parts.some((part) => reader.property(part, 'properties') ?? reader.property(part, 'required'));
  return isObject ? ['object', ...ALL_TYPES] : ALL_TYPES;
}

function declaredTypes(part: JsonNode, reader: SchemaReader): string[] {
  const type = reader.property(part, 'type');
  if (!type) return [];
  return kindOf(type) === 'string' ? [reader.stringAt(part, 'type') ?? ''] : reader.stringsAt(part, 'type');
}
