import { endOffset, itemsOf, type JsonNode, kindOf, membersOf, rootOf, startOffset } from './json-node.ts';
import type { JsonPath } from './json-path.ts';
import type { JsonDocument } from './parse-json.ts';

/** A key that stands more than once in its object. */
export interface DuplicateKey {
  /** The value that counts: the last. */
  readonly value: JsonNode;
  readonly path: () => JsonPath;
}

const OPEN_OBJECT = 0x7b;

/** All members whose key stands more than once in its object, each once. The document is read once, however deep it is. */
export function* duplicateKeys(doc: JsonDocument): Generator<DuplicateKey> {
  const { bytes, tape } = doc;
  for (let at = 0; at * 3 < tape.length; at++) {
    if (bytes[tape[at * 3] ?? 0] === OPEN_OBJECT && !hasDistinctKeys(doc, at)) yield* duplicatesInObject({ doc, at });
  }
}

const BACKSLASH = 0x5c;

// More keys than these are compared by what they say.
const MAX_HASHED_KEYS = 32;
const keyHashes = new Int32Array(MAX_HASHED_KEYS);

// True where the keys of an object are few and differ for sure: most objects of a large body are small and alike, and to
// read every key of them as a string takes longer than all else.
function hasDistinctKeys({ bytes, tape }: JsonDocument, object: number): boolean {
  const end = tape[object * 3 + 2] ?? 0;
  let count = 0;
  for (let key = object + 1; key < end; key = tape[(key + 1) * 3 + 2] ?? end) {
    if (count === MAX_HASHED_KEYS) return false;
    const keyEnd = (tape[key * 3 + 1] ?? 0) - 1;
    let hash = 0;
    for (let at = (tape[key * 3] ?? 0) + 1; at < keyEnd; at++) {
      const byte = bytes[at] ?? 0;
      if (byte === BACKSLASH) return false;
      hash = (Math.imul(hash, 31) + byte) | 0;
    }
    for (let other = 0; other < count; other++) if (keyHashes[other] === hash) return false;
    keyHashes[count++] = hash;
  }
  return true;
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
  let container = rootOf(node.doc);
  while (container.at !== node.at) {
    const [step, child] = stepTowards(container, startOffset(node));
    path.push(step);
    container = child;
  }
  return path;
}

function stepTowards(container: JsonNode, offset: number): [step: string | number, child: JsonNode] {
  if (kindOf(container) === 'list') {
    let index = 0;
    for (const item of itemsOf(container)) {
      if (endOffset(item) > offset) return [index, item];
      index += 1;
    }
  }
  for (const { key, value } of membersOf(container)) if (endOffset(value) > offset) return [key, value];
  throw new RangeError(`nothing stands at ${offset}`);
}
