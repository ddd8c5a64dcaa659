import { OPEN_OBJECT } from './json-bytes.ts';
import {
  endOffset,
  itemsOf,
  type JsonDocument,
  type JsonNode,
  type JsonPath,
  membersOf,
  rootOf,
  startOffset,
  UNKNOWN_SIGNATURE,
} from './json-node.ts';

export interface DuplicateKey {
  readonly value: JsonNode;
  readonly path: () => JsonPath;
}

/** All members whose key appears more than once in its object, each once. The document is read once, however deep it is. */
export function* duplicateKeys(doc: JsonDocument): Generator<DuplicateKey> {
  if (doc.hasDistinctKeys) return;
  for (let at = findSuspect(doc, 0); at !== undefined; at = findSuspect(doc, at + 1))
    yield* duplicatesInObject({ doc, at });
}

// An object with more keys is always a suspect.
const MAX_COMPARED_KEYS = 32;

// Different signatures in the order of an earlier object. Most objects have the same keys as the one before.
const distinct = new Int32Array(MAX_COMPARED_KEYS);

// The next object that may have a key twice, by the signatures of its keys: to read the keys of all objects as strings takes
// longer than everything else.
function findSuspect({ bytes, tape }: JsonDocument, from: number): number | undefined {
  let distinctCount = 0;
  for (let object = from; object * 3 < tape.length; object += 1) {
    if (bytes[tape[object * 3] ?? 0] !== OPEN_OBJECT) continue;
    const end = tape[object * 3 + 2] ?? 0;
    let count = 0;
    for (let key = object + 1; key < end; key = tape[(key + 1) * 3 + 2] ?? end) {
      const signature = tape[key * 3 + 2] ?? UNKNOWN_SIGNATURE;
      if (count === distinctCount || distinct[count] !== signature) {
        if (signature === UNKNOWN_SIGNATURE || count === MAX_COMPARED_KEYS) return object;
        for (let other = 0; other < count; other += 1) if (distinct[other] === signature) return object;
        distinct[count] = signature;
        distinctCount = count + 1;
      }
      count += 1;
    }
  }
  return undefined;
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
    const children = [
      ...Array.from(itemsOf(container)).entries(),
      ...Array.from(membersOf(container), ({ key, value }) => [key, value] as const),
    ];
    const next = children.find(([, child]) => endOffset(child) > startOffset(node));
    if (!next) throw new RangeError(`no value at ${startOffset(node)}`);
    path.push(next[0]);
    container = next[1];
  }
  return path;
}
