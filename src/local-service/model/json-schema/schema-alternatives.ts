import type { JsonNode } from '../../../json/json-node.ts';
import type { ValueGenerator } from './value-generator.ts';

// A schema of more parts is not understood; nor is one that is parts of parts so deep.
const MAX_SCHEMA_PARTS = 256;

/**
 * The ways to keep to some schemas, each a list of parts that hold together: what `$ref` and `allOf` name besides, and
 * one option of every `anyOf`, `oneOf` and `if`. What an option excludes is for the check.
 */
export function* schemaAlternatives(
  schemas: readonly JsonNode[],
  generator: ValueGenerator,
  expanded: readonly JsonNode[] = [],
): Generator<JsonNode[]> {
  const { reader, spend, reportConflict } = generator;
  spend(1 + expanded.length);
  const [part, ...rest] = schemas;
  if (!part) return yield [...expanded];
  if (expanded.length === MAX_SCHEMA_PARTS) return reportConflict('allOf');
  // What refers to itself adds nothing.
  if (expanded.some(({ at }) => at === part.at)) return yield* schemaAlternatives(rest, generator, expanded);
  const target = reader.resolveReference(reader.stringAt(part, '$ref') ?? '');
  const pending = [...rest, ...(target ? [target] : []), ...reader.arrayAt(part, 'allOf')];
  for (const chosen of combinations(branchChoices(part, generator))) {
    yield* schemaAlternatives([...pending, ...chosen], generator, [...expanded, part]);
  }
}

/** For each thing to choose its options, which may be several schemas each. */
function branchChoices(part: JsonNode, { reader }: ValueGenerator): JsonNode[][][] {
  const options = ['anyOf', 'oneOf'].map((name) => reader.arrayAt(part, name).map((option) => [option]));
  const condition = reader.property(part, 'if');
  const [elseBranch, thenBranch] = ['else', 'then'].map((name) => {
    const branch = reader.property(part, name);
    return branch ? [branch] : [];
  });
  const conditional = condition ? [elseBranch ?? [], [condition, ...(thenBranch ?? [])]] : [];
  return [...options, conditional].filter((choice) => choice.length > 0);
}

function* combinations([first, ...rest]: readonly JsonNode[][][]): Generator<JsonNode[]> {
  if (!first) return yield [];
  for (const option of first) for (const others of combinations(rest)) yield [...option, ...others];
}
