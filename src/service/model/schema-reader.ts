import { itemsOf, type JsonNode, kindOf, membersOf, stringOf, textOf } from '../../json/node.ts';
import type { Spend } from './budget.ts';
import { type Decimal, decimalOf } from './decimal.ts';

/** Reads a JSON Schema; each look costs a step, and no object is searched twice however often it is referred to. */
export interface SchemaReader {
  /** The members of an object by name; none of any other kind. */
  readonly members: (node: JsonNode) => ReadonlyMap<string, JsonNode>;
  readonly member: (node: JsonNode, name: string) => JsonNode | undefined;
  readonly stringAt: (node: JsonNode, name: string) => string | undefined;
  readonly decimalAt: (node: JsonNode, name: string) => Decimal | undefined;
  /** The elements of a member that is a list, or none. */
  readonly listAt: (node: JsonNode, name: string) => JsonNode[];
  /** The elements of a member that are strings. */
  readonly stringsAt: (node: JsonNode, name: string) => string[];
  /** The largest count that some schemas have under a name, rounded up; 0 where none has. */
  readonly mostAt: (nodes: readonly JsonNode[], name: string) => number;
  /** What a `$ref` to this document names. */
  readonly referred: (reference: string) => JsonNode | undefined;
}

/** A reader of schemas whose references start from `root`. */
export function schemaReader(root: JsonNode, spend: Spend): SchemaReader {
  const read = new Map<number, ReadonlyMap<string, JsonNode>>();
  const members = (node: JsonNode): ReadonlyMap<string, JsonNode> => {
    spend(1);
    const found = read.get(node.at) ?? new Map(Array.from(membersOf(node), ({ key, value }) => [key, value]));
    read.set(node.at, found);
    return found;
  };
  const member: SchemaReader['member'] = (node, name) => members(node).get(name);
  const listAt: SchemaReader['listAt'] = (node, name) => {
    const list = member(node, name);
    const items: JsonNode[] = [];
    if (list) {
      for (const item of itemsOf(list)) {
        spend(1);
        items.push(item);
      }
    }
    return items;
  };
  const numberAt = (node: JsonNode, name: string): string | undefined => {
    const value = member(node, name);
    return value && kindOf(value) === 'number' ? textOf(value) : undefined;
  };
  return {
    members,
    member,
    listAt,
    stringAt: (node, name) => {
      const value = member(node, name);
      return value && kindOf(value) === 'string' ? stringOf(value) : undefined;
    },
    stringsAt: (node, name) =>
      listAt(node, name).flatMap((item) => (kindOf(item) === 'string' ? [stringOf(item)] : [])),
    decimalAt: (node, name) => decimalOf(numberAt(node, name) ?? ''),
    mostAt: (nodes, name) => Math.max(0, ...nodes.map((node) => Math.ceil(Number(numberAt(node, name) ?? 0)))),
    referred: (reference) =>
      stepsOf(reference)?.reduce<JsonNode | undefined>((node, step) => node && member(node, step), root),
  };
}

// The steps of a JSON pointer in a fragment (RFC 6901); what points elsewhere has none.
function stepsOf(reference: string): string[] | undefined {
  if (!/^#(?:\/|$)/.test(reference)) return undefined;
  const steps = reference.split('/').slice(1);
  return steps.map((step) => decoded(step).replaceAll('~1', '/').replaceAll('~0', '~'));
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}
