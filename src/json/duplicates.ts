import type { JsonDocument } from './document.ts';
import { endOf, itemsOf, type JsonNode, kindOf, membersOf, rootOf, startOf } from './node.ts';
import type { Path } from './path.ts';

/** The paths of all members whose key stands more than once in its object, each path once. */
export function duplicateKeys(doc: JsonDocument): Path[] {
  const found: Path[] = [];
  for (let at = 0; at < doc.tape.length / 3; at++) {
    const node = { doc, at };
    if (kindOf(node) !== 'object') continue;
    for (const key of repeatedKeys(node)) found.push([...pathTo(node), key]);
  }
  return found;
}

function repeatedKeys(object: JsonNode): Set<string> {
  const seen = new Set<string>();
  const repeated = new Set<string>();
  for (const { key } of membersOf(object)) {
    if (seen.has(key)) repeated.add(key);
    seen.add(key);
  }
  return repeated;
}

// Only called for the rare object that has a duplicate, so it may search from the root.
function pathTo(target: JsonNode): Path {
  const path: (string | number)[] = [];
  let node = rootOf(target.doc);
  while (node.at !== target.at) {
    const [step, child] = childAround(node, target) ?? [];
    if (step === undefined || child === undefined) return path;
    path.push(step);
    node = child;
  }
  return path;
}

function childAround(node: JsonNode, target: JsonNode): [string | number, JsonNode] | undefined {
  for (const { key, value } of membersOf(node)) if (contains(value, target)) return [key, value];
  let index = 0;
  for (const item of itemsOf(node)) {
    if (contains(item, target)) return [index, item];
    index += 1;
  }
  return undefined;
}

function contains(outer: JsonNode, inner: JsonNode): boolean {
  return startOf(outer) <= startOf(inner) && endOf(inner) <= endOf(outer);
}
