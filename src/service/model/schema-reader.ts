import { itemsOf, type JsonNode, kindOf, membersOf, stringOf, textOf } from '../../json/node.ts';
import type { Spend } from './budget.ts';

/** Reads a JSON Schema; each look costs a step, and no object is searched twice however often it is referred to. */
export interface SchemaReader {
  readonly member: (node: JsonNode, name: string) => JsonNode | undefined;
  readonly stringAt: (node: JsonNode, name: string) => string | undefined;
  readonly numberAt: (node: JsonNode, name: string) => number | undefined;
  /** The elements of a member that is a list, or none. */
  readonly listAt: (node: JsonNode, name: string) => JsonNode[];
  /** What a `$ref` to this document names. */
  readonly referred: (reference: string) => JsonNode | undefined;
}

/** A reader of schemas whose references start from `root`. */
export function schemaReader(root: JsonNode, spend: Spend): SchemaReader {
  const read = new Map<number, ReadonlyMap<string, JsonNode>>();
  const member = (node: JsonNode, name: string): JsonNode | undefined => {
    spend(1);
    const members = read.get(node.at) ?? new Map(Array.from(membersOf(node), ({ key, value }) => [key, value]));
    read.set(node.at, members);
    return members.get(name);
  };
  const listAt = (node: JsonNode, name: string): JsonNode[] => {
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
  return {
    member,
    listAt,
    stringAt: (node, name) => {
      const value = member(node, name);
      return value && kindOf(value) === 'string' ? stringOf(value) : undefined;
    },
    numberAt: (node, name) => {
      const value = member(node, name);
      return value && kindOf(value) === 'number' ? Number(textOf(value)) : undefined;
    },
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
