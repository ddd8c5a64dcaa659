import type { Buffer } from 'node:buffer';
import { BACKSLASH, OPEN_OBJECT } from './json-bytes.ts';
import { endOffset, itemsOf, type JsonNode, kindOf, membersOf, rootOf, startOffset } from './json-node.ts';
import type { JsonPath } from './json-path.ts';
import type { JsonDocument } from './parse-json.ts';

/** A key that appears more than once in its object. */
export interface DuplicateKey {
  /** The value that counts: the last. */
  readonly value: JsonNode;
  readonly path: () => JsonPath;
}

/** All members whose key appears more than once in its object, each once. The document is read once, however deep it is. */
export function* duplicateKeys(doc: JsonDocument): Generator<DuplicateKey> {
  const { bytes, tape } = doc;
  const span = { start: 0, end: 0 };
  for (let at = 0; at * 3 < tape.length; at++) {
    if (bytes[tape[at * 3] ?? 0] === OPEN_OBJECT && !hasDistinctKeys(doc, at, span))
      yield* duplicatesInObject({ doc, at });
  }
}

// More keys than these are compared as strings.
const MAX_COMPARED_KEYS = 32;
const keySignatures = new Int32Array(MAX_COMPARED_KEYS);
const keyEntries = new Int32Array(MAX_COMPARED_KEYS);

// True where the keys of an object are few, plain and different: most objects of a large body are small and alike, and to
// read every key of them as a string takes longer than everything else.
function hasDistinctKeys({ bytes, tape }: JsonDocument, object: number, span: PlainSpan): boolean {
  const end = tape[object * 3 + 2] ?? 0;
  let count = 0;
  for (let key = object + 1; key < end; key = tape[(key + 1) * 3 + 2] ?? end) {
    if (count === MAX_COMPARED_KEYS) return false;
    const keyStart = (tape[key * 3] ?? 0) + 1;
    const keyEnd = (tape[key * 3 + 1] ?? 0) - 1;
    if (!isPlain(bytes, keyStart, keyEnd, span)) return false;
    const signature = signatureOf(bytes, keyStart, keyEnd);
    for (let other = 0; other < count; other++) {
      if (keySignatures[other] !== signature) continue;
      const otherStart = (tape[(keyEntries[other] ?? 0) * 3] ?? 0) + 1;
      const otherEnd = (tape[(keyEntries[other] ?? 0) * 3 + 1] ?? 0) - 1;
      if (bytes.compare(bytes, otherStart, otherEnd, keyStart, keyEnd) === 0) return false;
    }
    keySignatures[count] = signature;
    keyEntries[count++] = key;
  }
  return true;
}

/** A part of a document without a backslash. */
interface PlainSpan {
  start: number;
  end: number;
}

const SPAN_BYTES = 4096;

function isPlain(bytes: Buffer, start: number, end: number, span: PlainSpan): boolean {
  if (start < span.start || end > span.end) {
    const window = bytes.subarray(start, start + SPAN_BYTES);
    const found = window.indexOf(BACKSLASH);
    span.start = start;
    span.end = start + (found === -1 ? window.length : found);
  }
  return end <= span.end;
}

// Of a few bytes; keys with the same one are compared.
function signatureOf(bytes: Buffer, start: number, end: number): number {
  let signature = end - start;
  signature = Math.imul(signature, 31) + (bytes[start] ?? 0);
  signature = Math.imul(signature, 31) + (bytes[(start + end) >> 1] ?? 0);
  return (Math.imul(signature, 31) + (bytes[end - 1] ?? 0)) | 0;
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
