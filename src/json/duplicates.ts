import type { JsonDocument } from './document.ts';
import { endOf, type JsonNode, kindOf, membersOf, startOf, stringOf } from './node.ts';
import type { Path } from './path.ts';

/** A key that stands more than once in its object. */
export interface Duplicate {
  /** The value that counts: the last. */
  readonly value: JsonNode;
  readonly path: () => Path;
}

/** An object or a list that is being read, and those around it. */
interface Open {
  readonly outer: Open | undefined;
  /** Where it stands in the outer one; nowhere, if there is none. */
  readonly step: readonly [] | readonly [string | number];
  readonly node: JsonNode;
  /** The keys and values of it that have begun. */
  begun: number;
}

/** All members whose key stands more than once in its object, each once. The document is read once, however deep it is. */
export function* duplicateKeys(doc: JsonDocument): Generator<Duplicate> {
  let outer: Open | undefined;
  for (let at = 0; at < doc.tape.length / 3; at++) {
    const node = { doc, at };
    while (outer && startOf(node) >= endOf(outer.node)) outer = outer.outer;
    if (outer) outer.begun += 1;
    if (isKey(outer)) continue;
    const kind = kindOf(node);
    if (kind !== 'object' && kind !== 'list') continue;
    const open: Open = { outer, step: stepTo(node, outer), node, begun: 0 };
    if (kind === 'object') yield* repeatedIn(open);
    outer = open;
  }
}

function isKey(open: Open | undefined): boolean {
  return open !== undefined && open.begun % 2 === 1 && kindOf(open.node) === 'object';
}

function stepTo({ doc, at }: JsonNode, outer: Open | undefined): Open['step'] {
  if (!outer) return [];
  // The key stands right before its value.
  return [kindOf(outer.node) === 'object' ? stringOf({ doc, at: at - 1 }) : outer.begun - 1];
}

function* repeatedIn(object: Open): Generator<Duplicate> {
  const seen = new Set<string>();
  const repeated = new Map<string, JsonNode>();
  for (const { key, value } of membersOf(object.node)) {
    if (seen.has(key)) repeated.set(key, value);
    seen.add(key);
  }
  for (const [key, value] of repeated) yield { value, path: () => [...pathTo(object), key] };
}

function pathTo(open: Open): Path {
  const path: (string | number)[] = [];
  for (let at: Open | undefined = open; at; at = at.outer) path.push(...at.step);
  return path.reverse();
}
