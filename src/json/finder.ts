import type { JsonDocument } from './document.ts';
import { itemsOf, type JsonNode, kindOf, membersOf, rootOf } from './node.ts';
import type { Path } from './path.ts';

/** The values on the way along a path, from the one it starts at to the deepest there is; of duplicate members the last. */
export type Find = (path: Path, from?: JsonNode) => readonly JsonNode[];

interface Place {
  readonly step: string | number | undefined;
  readonly node: JsonNode;
  children?: Children;
}

type Children = ReadonlyMap<string | number, JsonNode> | readonly JsonNode[];

/**
 * Finds values of a document by their paths. What the path before went through is remembered, so that a million
 * neighbours are found in the time it takes to read their list once.
 */
export function finderIn(doc: JsonDocument): Find {
  let trail: Place[] = [];
  return (path, from = rootOf(doc)) => {
    if (trail[0]?.node.at !== from.at) trail = [{ step: undefined, node: from }];
    let depth = 0;
    for (const step of path) {
      const next = trail[depth + 1]?.step === step ? trail[depth + 1] : childOf(trail[depth], step);
      if (!next) break;
      if (trail[depth + 1] !== next) trail = [...trail.slice(0, depth + 1), next];
      depth += 1;
    }
    return trail.slice(0, depth + 1).map(({ node }) => node);
  };
}

function childOf(place: Place | undefined, step: string | number): Place | undefined {
  if (!place) return undefined;
  place.children ??= childrenOf(place.node);
  const { children } = place;
  const node = 'get' in children ? children.get(step) : typeof step === 'number' ? children[step] : undefined;
  return node && { step, node };
}

function childrenOf(node: JsonNode): Children {
  if (kindOf(node) === 'list') return Array.from(itemsOf(node));
  return new Map(Array.from(membersOf(node), ({ key, value }) => [key, value]));
}
