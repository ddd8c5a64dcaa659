import { itemsOf, type JsonDocument, type JsonNode, kindOf, membersOf, rootOf } from './json-node.ts';
import type { JsonPath } from './json-path.ts';

/** The values along a path, from the root to the deepest that exists; of duplicate keys the last value counts. */
export type NodeFinder = (path: JsonPath, from?: JsonNode) => readonly JsonNode[];

interface TrailStep {
  readonly step: string | number | undefined;
  readonly node: JsonNode;
  children?: Children;
}

type Children = ReadonlyMap<string | number, JsonNode> | readonly JsonNode[];

/**
 * Finds values of a document by their paths. What the path before went through is remembered, so that a million
 * neighbours are found in the time it takes to read their list once.
 */
export function createNodeFinder(doc: JsonDocument): NodeFinder {
  let trail: TrailStep[] = [];
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

function childOf(place: TrailStep | undefined, step: string | number): TrailStep | undefined {
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
