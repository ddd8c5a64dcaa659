import { itemsOf, type JsonKind, type JsonNode, kindOf, membersOf } from '../../json/json-node.ts';

/** A terminal path and the type inferred from the values found there. */
export interface PayloadPath {
  readonly path: string;
  readonly type: 'boolean' | 'numeric' | 'categorical';
}

/** The terminal paths of some payloads with their types, sorted by path, by the rules of docs/servers.md. */
export function inferPayloadPaths(payloads: readonly JsonNode[]): PayloadPath[] {
  const kinds = new Map<string, Set<JsonKind>>();
  for (const payload of payloads) {
    for (const { path, kind } of scalarEntries(payload)) {
      const pathKinds = kinds.get(path) ?? new Set();
      kinds.set(path, pathKinds.add(kind));
    }
  }
  return [...kinds]
    .filter(([path]) => /^[A-Za-z0-9_. ]+$/.test(path))
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([path, pathKinds]) => ({ path, type: inferValueType(pathKinds) }));
}

// With a stack of its own: a payload may be as deep as its bytes allow.
function* scalarEntries(payload: JsonNode): Generator<{ path: string; kind: JsonKind }> {
  const stack: { readonly node: JsonNode; readonly path: string }[] = [{ node: payload, path: '' }];
  for (let next = stack.pop(); next; next = stack.pop()) {
    const { node, path } = next;
    // A key that stands twice counts with its last value.
    for (const [key, value] of new Map(Array.from(membersOf(node), (entry) => [entry.key, entry.value]))) {
      if (key.trim() === '' || key.includes('.')) continue;
      const innerPath = path === '' ? key : `${path}.${key}`;
      const kind = kindOf(value);
      if (kind === 'object') stack.push({ node: value, path: innerPath });
      else if (kind === 'list') yield* scalarItems(value, innerPath);
      else yield { path: innerPath, kind };
    }
  }
}

function* scalarItems(array: JsonNode, path: string): Generator<{ path: string; kind: JsonKind }> {
  for (const item of itemsOf(array)) {
    const kind = kindOf(item);
    if (kind !== 'object' && kind !== 'list') yield { path, kind };
  }
}

function inferValueType(kinds: ReadonlySet<JsonKind>): PayloadPath['type'] {
  const isOnly = (kind: JsonKind): boolean => [...kinds].every((one) => one === kind || one === 'null');
  if (isOnly('boolean')) return 'boolean';
  return isOnly('number') ? 'numeric' : 'categorical';
}
