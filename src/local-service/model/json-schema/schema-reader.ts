import { itemsOf, type JsonNode, kindOf, membersOf, rawText, stringOf } from '../../../json/json-node.ts';
import type { SpendSteps } from '../step-budget.ts';
import { type Decimal, parseDecimal } from './decimal.ts';

/** Reads a JSON Schema; each look costs a step, and no object is searched twice however often it is referred to. */
export interface SchemaReader {
  /** The members of an object by name; none of any other kind. */
  readonly properties: (node: JsonNode) => ReadonlyMap<string, JsonNode>;
  readonly property: (node: JsonNode, name: string) => JsonNode | undefined;
  readonly stringAt: (node: JsonNode, name: string) => string | undefined;
  readonly decimalAt: (node: JsonNode, name: string) => Decimal | undefined;
  /** The elements of a member that is a list, or none. */
  readonly arrayAt: (node: JsonNode, name: string) => JsonNode[];
  /** The elements of a member that are strings. */
  readonly stringsAt: (node: JsonNode, name: string) => string[];
  /** The largest count that some schemas have under a name, rounded up; 0 where none has. */
  readonly maxCountAt: (nodes: readonly JsonNode[], name: string) => number;
  /** What a `$ref` to this document names. */
  readonly resolveReference: (reference: string) => JsonNode | undefined;
}

/** A reader of schemas whose references start from `root`. */
export function createSchemaReader(root: JsonNode, spend: SpendSteps): SchemaReader {
  const cache = new Map<number, ReadonlyMap<string, JsonNode>>();
  const properties = (node: JsonNode): ReadonlyMap<string, JsonNode> => {
    spend(1);
    const found = cache.get(node.at) ?? new Map(Array.from(membersOf(node), ({ key, value }) => [key, value]));
    cache.set(node.at, found);
    return found;
  };
  const property: SchemaReader['property'] = (node, name) => properties(node).get(name);
  const arrayAt: SchemaReader['arrayAt'] = (node, name) => {
    const list = property(node, name);
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
    const value = property(node, name);
    return value && kindOf(value) === 'number' ? rawText(value) : undefined;
  };
  return {
    properties,
    property,
    arrayAt,
    stringAt: (node, name) => {
      const value = property(node, name);
      return value && kindOf(value) === 'string' ? stringOf(value) : undefined;
    },
    stringsAt: (node, name) =>
      arrayAt(node, name).flatMap((item) => (kindOf(item) === 'string' ? [stringOf(item)] : [])),
    decimalAt: (node, name) => parseDecimal(numberAt(node, name) ?? ''),
    maxCountAt: (nodes, name) => Math.max(0, ...nodes.map((node) => Math.ceil(Number(numberAt(node, name) ?? 0)))),
    resolveReference: (reference) =>
      pointerSteps(reference)?.reduce<JsonNode | undefined>((node, step) => node && property(node, step), root),
  };
}

// The steps of a JSON pointer in a fragment (RFC 6901); what points elsewhere has none.
function pointerSteps(reference: string): string[] | undefined {
  if (!/^#(?:\/|$)/.test(reference)) return undefined;
  const steps = reference.split('/').slice(1);
  return steps.map((step) => decodeStep(step).replaceAll('~1', '/').replaceAll('~0', '~'));
}

function decodeStep(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}
