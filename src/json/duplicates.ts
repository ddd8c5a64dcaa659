import type { JsonDocument } from './document.ts';
import { endOf, itemsOf, type JsonNode, kindOf, membersOf, rootOf, startOf } from './node.ts';
import type { Path } from './path.ts';

/** A key that stands more than once in its object. */
export interface Duplicate {
  /** The value that counts: the last. */
  readonly value: JsonNode;
  readonly path: () => Path;
}

const OPEN_OBJECT = 0x7b;

/** All members whose key stands more than once in its object, each once. The document is read once, however deep it is. */
export function* duplicateKeys(doc: JsonDocument): Generator<Duplicate> {
  const { bytes, tape } = doc;
  for (let at = 0; at * 3 < tape.length; at++) {
    if (bytes[tape[at * 3] ?? 0] === OPEN_OBJECT && !areDistinct(doc, at)) yield* repeatedIn({ doc, at });
  }
}

const BACKSLASH = 0x5c;

// More keys than these are compared by what they say.
const FEW = 32;
const marks = new Int32Array(FEW);

// True where the keys of an object are few and differ for sure: most objects of a large body are small and alike, and to
// read every key of them as a string takes longer than all else.
function areDistinct({ bytes, tape }: JsonDocument, object: number): boolean {
  const end = tape[object * 3 + 2] ?? 0;
  let count = 0;
  for (let key = object + 1; key < end; key = tape[(key + 1) * 3 + 2] ?? end) {
    if (count === FEW) return false;
    const stop = (tape[key * 3 + 1] ?? 0) - 1;
    let mark = 0;
    for (let at = (tape[key * 3] ?? 0) + 1; at < stop; at++) {
      const byte = bytes[at] ?? 0;
      if (byte === BACKSLASH) return false;
      mark = (Math.imul(mark, 31) + byte) | 0;
    }
    for (let other = 0; other < count; other++) if (marks[other] === mark) return false;
    marks[count++] = mark;
  }
  return true;
}

function* repeatedIn(object: JsonNode): Generator<Duplicate> {
  const seen = new Set<string>();
  const repeated = new Map<string, JsonNode>();
  for (const { key, value } of membersOf(object)) {
    if (seen.has(key)) repeated.set(key, value);
    seen.add(key);
  }
  for (const [key, value] of repeated) yield { value, path: () => [...pathTo(object), key] };
}

function pathTo(node: JsonNode): Path {
  const path: (string | number)[] = [];
  let around = rootOf(node.doc);
  while (around.at !== node.at) {
    const [step, child] = stepTowards(around, startOf(node));
    path.push(step);
    around = child;
  }
  return path;
}

function stepTowards(around: JsonNode, offset: number): [step: string | number, child: JsonNode] {
  if (kindOf(around) === 'list') {
    let index = 0;
    for (const item of itemsOf(around)) {
      if (endOf(item) > offset) return [index, item];
      index += 1;
    }
  }
  for (const { key, value } of membersOf(around)) if (endOf(value) > offset) return [key, value];
  throw new RangeError(`nothing stands at ${offset}`);
}
