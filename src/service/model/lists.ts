import { isTrue, type JsonNode } from '../../json/node.ts';
import type { Maker } from './maker.ts';

// So many items more than needed are tried, to find lists that differ.
const MOST_MORE = 64;

/** JSON texts of lists that may keep to some schemas: as short as they allow, then with other items, then longer ones. */
export function* lists(parts: readonly JsonNode[], depth: number, maker: Maker): Generator<string> {
  const { reader, spend } = maker;
  const isUnique = parts.some((part) => isTrue(reader.member(part, 'uniqueItems')));
  const least = reader.mostAt(parts, 'minItems');
  const made = (count: number, demands: Demands): string[] | undefined =>
    items(parts, count, demands, isUnique, depth, maker);
  const write = (list: readonly string[]): string => {
    const text = `[${list.join(',')}]`;
    spend(text.length);
    return text;
  };
  const demanded = parts.flatMap((part) => demandsOf(part, maker));
  const plain = demanded.length === 0 ? made(least, []) : undefined;
  if (plain) yield write(plain);
  if (demanded.length > 0) {
    const prefix = Math.max(0, ...parts.map((part) => reader.listAt(part, 'prefixItems').length));
    for (const before of new Set([0, prefix])) {
      const found = made(Math.max(least, before + demanded.length), [...Array(before).fill(undefined), ...demanded]);
      if (found) yield write(found);
    }
  }
  if (plain && !isUnique) {
    for (const [at] of plain.entries()) {
      for (const other of maker.values(itemParts(parts, at, maker), depth + 1)) yield write(plain.with(at, other));
    }
  }
  for (let more = 1; more <= MOST_MORE; more++) {
    const longer = made(least + more, demanded);
    if (!longer) return;
    yield write(longer);
  }
}

/** What the item of each place must keep to besides. */
type Demands = readonly (JsonNode | undefined)[];

function demandsOf(part: JsonNode, { reader, spend }: Maker): JsonNode[] {
  const rule = reader.member(part, 'contains');
  if (!rule) return [];
  const count = reader.member(part, 'minContains') ? reader.mostAt([part], 'minContains') : 1;
  spend(count);
  return Array.from({ length: count }, () => rule);
}

function itemParts(parts: readonly JsonNode[], at: number, { reader }: Maker): JsonNode[] {
  return parts.flatMap((part) => reader.listAt(part, 'prefixItems')[at] ?? reader.member(part, 'items') ?? []);
}

function items(
  parts: readonly JsonNode[],
  count: number,
  demands: Demands,
  isUnique: boolean,
  depth: number,
  maker: Maker,
): string[] | undefined {
  maker.spend(count);
  const sources = new Map<string, { readonly first: string | undefined; readonly rest: Generator<string> }>();
  const list: string[] = [];
  const used = new Set<string>();
  for (let at = 0; at < count; at++) {
    const demand = demands[at];
    const schemas = [...itemParts(parts, at, maker), ...(demand ? [demand] : [])];
    // Places with the same schemas go on where the one before took its value.
    const key = schemas.map((schema) => schema.at).join();
    const known = sources.get(key);
    const rest = known?.rest ?? maker.values(schemas, depth + 1);
    let value: string | undefined = known && !isUnique ? known.first : rest.next().value;
    while (isUnique && value !== undefined && used.has(value)) value = rest.next().value;
    sources.set(key, { first: value, rest });
    if (value === undefined) {
      maker.blame(isUnique ? 'uniqueItems' : 'items');
      return undefined;
    }
    used.add(value);
    maker.spend(value.length);
    list.push(value);
  }
  return list;
}
