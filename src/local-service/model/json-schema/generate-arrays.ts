import { isTrue, type JsonNode } from '../../../json/json-node.ts';
import type { ValueGenerator } from './value-generator.ts';

// So many items more than needed are tried, to find lists that differ.
const MAX_EXTRA_ITEMS = 64;

/** JSON texts of lists that may keep to some schemas: as short as they allow, then with other items, then longer ones. */
export function* generateArrays(
  parts: readonly JsonNode[],
  depth: number,
  generator: ValueGenerator,
): Generator<string> {
  const { reader, spend } = generator;
  const isUnique = parts.some((part) => isTrue(reader.property(part, 'uniqueItems')));
  const least = reader.maxCountAt(parts, 'minItems');
  const build = (count: number, demands: RequiredItems): string[] | undefined =>
    generateItems(parts, count, demands, isUnique, depth, generator);
  const write = (list: readonly string[]): string => {
    const text = `[${list.join(',')}]`;
    spend(text.length);
    return text;
  };
  const requiredItems = parts.flatMap((part) => containsSchemas(part, generator));
  const shortest = requiredItems.length === 0 ? build(least, []) : undefined;
  if (shortest) yield write(shortest);
  if (requiredItems.length > 0) {
    const prefix = Math.max(0, ...parts.map((part) => reader.arrayAt(part, 'prefixItems').length));
    for (const before of new Set([0, prefix])) {
      const found = build(Math.max(least, before + requiredItems.length), [
        ...Array(before).fill(undefined),
        ...requiredItems,
      ]);
      if (found) yield write(found);
    }
  }
  if (shortest && !isUnique) {
    for (const [at] of shortest.entries()) {
      for (const other of generator.valuesFor(itemSchemas(parts, at, generator), depth + 1))
        yield write(shortest.with(at, other));
    }
  }
  for (let more = 1; more <= MAX_EXTRA_ITEMS; more++) {
    const longer = build(least + more, requiredItems);
    if (!longer) return;
    yield write(longer);
  }
}

/** What the item of each place must keep to besides. */
type RequiredItems = readonly (JsonNode | undefined)[];

function containsSchemas(part: JsonNode, { reader, spend }: ValueGenerator): JsonNode[] {
  const containsSchema = reader.property(part, 'contains');
  if (!containsSchema) return [];
  const count = reader.property(part, 'minContains') ? reader.maxCountAt([part], 'minContains') : 1;
  spend(count);
  return Array.from({ length: count }, () => containsSchema);
}

function itemSchemas(parts: readonly JsonNode[], index: number, { reader }: ValueGenerator): JsonNode[] {
  return parts.flatMap((part) => reader.arrayAt(part, 'prefixItems')[index] ?? reader.property(part, 'items') ?? []);
}

function generateItems(
  parts: readonly JsonNode[],
  count: number,
  required: RequiredItems,
  isUnique: boolean,
  depth: number,
  generator: ValueGenerator,
): string[] | undefined {
  generator.spend(count);
  const sources = new Map<string, { readonly first: string | undefined; readonly rest: Generator<string> }>();
  const list: string[] = [];
  const used = new Set<string>();
  for (let at = 0; at < count; at++) {
    const requiredSchema = required[at];
    const schemas = [...itemSchemas(parts, at, generator), ...(requiredSchema ? [requiredSchema] : [])];
    // Places with the same schemas go on where the one before took its value.
    const key = schemas.map((schema) => schema.at).join();
    const known = sources.get(key);
    const rest = known?.rest ?? generator.valuesFor(schemas, depth + 1);
    let value: string | undefined = known && !isUnique ? known.first : rest.next().value;
    while (isUnique && value !== undefined && used.has(value)) value = rest.next().value;
    sources.set(key, { first: value, rest });
    if (value === undefined) {
      generator.reportConflict(isUnique ? 'uniqueItems' : 'items');
      return undefined;
    }
    used.add(value);
    generator.spend(value.length);
    list.push(value);
  }
  return list;
}
