import { type JsonNode, rootOf } from '../../json/node.ts';
import { Refusal } from '../refusal.ts';
import { budgetOf } from './budget.ts';
import { firstOf } from './maker.ts';
import { schemaReader } from './schema-reader.ts';
import { makerOf } from './values.ts';

// A schema may refer to itself: what nests little is tried first.
const DEPTHS = [1, 2, 8, 32] as const;

// Steps through the schema and characters made, together.
const MOST_WORK = 256 * 1024;

/**
 * The JSON text of a small value that a JSON Schema allows; `root` is what `$ref`s start from. Throws Refusal 400 where
 * it finds none, which names a keyword that stood in the way, or where making it would take too long or too much room.
 */
export function smallestValue(schema: JsonNode, root: JsonNode = rootOf(schema.doc)): string {
  let blamed = '';
  const spend = budgetOf(MOST_WORK, () => `a value of this JSON Schema${blamed && ` that keeps to its ${blamed}`}`);
  const reader = schemaReader(root, spend);
  for (const deepest of DEPTHS) {
    blamed = '';
    const maker = makerOf(reader, spend, deepest, (keyword) => {
      blamed ||= keyword;
    });
    const value = firstOf(maker.values([schema], 0));
    if (value !== undefined) return value;
  }
  throw new Refusal(400, `the built-in model found no value of this JSON Schema that keeps to its ${blamed}`);
}
