import {
  childEntries,
  endOffset,
  type JsonDocument,
  type JsonNode,
  type JsonPath,
  kindOf,
  membersOf,
  rootOf,
  startOffset,
} from './json-node.ts';

export interface DuplicateKey {
  readonly value: JsonNode;
  readonly path: () => JsonPath;
}

/** All members whose key appears more than once in its object, each once. The document is read once, however deep it is. */
export function* duplicateKeys(doc: JsonDocument): Generator<DuplicateKey> {
  if (doc.hasDistinctKeys) return;
  for (let at = 0; at * 3 < doc.tape.length; at += 1)
    if (kindOf({ doc, at }) === 'object') yield* duplicatesInObject({ doc, at });
}

function* duplicatesInObject(object: JsonNode): Generator<DuplicateKey> {
  const seen = new Set<string>();
  const duplicates = new Map<string, JsonNode>();
  for (const { key, value } of membersOf(object)) {
    if (seen.has(key)) duplicates.set(key, value);
    seen.add(key);
  }
  for (const [key, value] of duplicates) yield { value, path: () => [...pathTo(object), key] };
}

function pathTo(node: JsonNode): JsonPath {
  const path: (string | number)[] = [];
  for (let container = rootOf(node.doc); container.at !== node.at; ) {
    const next = [...childEntries(container)].find(([, child]) => endOffset(child) > startOffset(node));
    if (!next) throw new RangeError(`no value at ${startOffset(node)}`);
    path.push(next[0]);
    container = next[1];
  }
  return path;
}
