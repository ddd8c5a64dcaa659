import { type JsonNode, rootOf } from '../../../json/json-node.ts';
import { HttpError } from '../../http-error.ts';
import { createStepBudget } from '../step-budget.ts';
import { createValueGenerator } from './create-value-generator.ts';
import { createSchemaReader } from './schema-reader.ts';
import { firstValue } from './value-generator.ts';

// A schema may refer to itself: what nests little is tried first.
const DEPTH_LIMITS = [1, 2, 8, 32] as const;

// Steps through the schema and characters made, together.
const MAX_STEPS = 256 * 1024;

/**
 * The JSON text of a small value that a JSON Schema allows; `root` is what `$ref`s start from. Throws Refusal 400 where
 * it finds none, which names a keyword that stood in the way, or where making it would take too long or too much room.
 */
export function smallestValue(schema: JsonNode, root: JsonNode = rootOf(schema.doc)): string {
  let conflictingKeyword = '';
  const spend = createStepBudget(
    MAX_STEPS,
    () => `a value of this JSON Schema${conflictingKeyword && ` that keeps to its ${conflictingKeyword}`}`,
  );
  const reader = createSchemaReader(root, spend);
  for (const maxDepth of DEPTH_LIMITS) {
    conflictingKeyword = '';
    const generator = createValueGenerator(reader, spend, maxDepth, (keyword) => {
      conflictingKeyword ||= keyword;
    });
    const value = firstValue(generator.valuesFor([schema], 0));
    if (value !== undefined) return value;
  }
  throw new HttpError(
    400,
    `the built-in model found no value of this JSON Schema that keeps to its ${conflictingKeyword}`,
  );
}
