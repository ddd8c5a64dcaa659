import type { JsonNode } from '../../json/node.ts';
import type { Maker } from './maker.ts';

// A schema of more parts is not understood; nor is one that is parts of parts so deep.
const MOST_PARTS = 256;

/**
 * The ways to keep to some schemas, each a list of parts that hold together: what `$ref` and `allOf` name besides, and
 * one option of every `anyOf`, `oneOf` and `if`. What an option excludes is for the check.
 */
export function* alternatives(
  schemas: readonly JsonNode[],
  maker: Maker,
  done: readonly JsonNode[] = [],
): Generator<JsonNode[]> {
  const { reader, spend, blame } = maker;
  spend(1 + done.length);
  const [part, ...rest] = schemas;
  if (!part) return yield [...done];
  if (done.length === MOST_PARTS) return blame('allOf');
  // What refers to itself adds nothing.
  if (done.some(({ at }) => at === part.at)) return yield* alternatives(rest, maker, done);
  const target = reader.referred(reader.stringAt(part, '$ref') ?? '');
  const more = [...rest, ...(target ? [target] : []), ...reader.listAt(part, 'allOf')];
  for (const chosen of combinations(choicesOf(part, maker))) {
    yield* alternatives([...more, ...chosen], maker, [...done, part]);
  }
}

/** For each thing to choose its options, which may be several schemas each. */
function choicesOf(part: JsonNode, { reader }: Maker): JsonNode[][][] {
  const options = ['anyOf', 'oneOf'].map((name) => reader.listAt(part, name).map((option) => [option]));
  const condition = reader.member(part, 'if');
  const [otherwise, then] = ['else', 'then'].map((name) => {
    const branch = reader.member(part, name);
    return branch ? [branch] : [];
  });
  const conditional = condition ? [otherwise ?? [], [condition, ...(then ?? [])]] : [];
  return [...options, conditional].filter((choice) => choice.length > 0);
}

function* combinations([first, ...rest]: readonly JsonNode[][][]): Generator<JsonNode[]> {
  if (!first) return yield [];
  for (const option of first) for (const others of combinations(rest)) yield [...option, ...others];
}
