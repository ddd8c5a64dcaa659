import { itemsOf, type JsonNode, kindOf, membersOf, stringOf } from '../json/json-node.ts';
import type { Fields, Shape } from './field.ts';

/** A value as the validator sees it: plain as far as the shape goes, a node where the shape does not look inside. */
export type ZodInput =
  | typeof notAnObject
  | null
  | boolean
  | string
  | JsonNode
  | ZodInput[]
  | { [key: string]: ZodInput };

/** Stands for a value that should have had members, because a node would pass for an object. */
const notAnObject = Symbol('not an object');

/**
 * The view of a node under a shape. It is only as deep as the shape, so a payload of any depth costs nothing; numbers
 * stay nodes, because their text decides. Members without a prototype: `__proto__` is a name like any other.
 */
export function toZodInput(node: JsonNode, shape: Shape): ZodInput {
  const kind = kindOf(node);
  if (kind === 'null') return null;
  switch (shape.type) {
    case 'string':
      return kind === 'string' ? stringOf(node) : node;
    case 'list':
      return kind === 'list' ? Array.from(itemsOf(node), (item) => toZodInput(item, shape.of)) : node;
    case 'object':
      if (!(shape.fields || shape.values)) return node;
      if (kind !== 'object') return notAnObject;
      return objectToZodInput(node, shape.fields ?? {}, shape.values);
    case 'either':
      return toZodInput(node, shape.of.find(({ type }) => type === kind) ?? { type: 'json' });
    default:
      return node;
  }
}

function objectToZodInput(node: JsonNode, fields: Fields, others: Shape | undefined): ZodInput {
  const view: { [key: string]: ZodInput } = Object.create(null);
  for (const { key, value } of membersOf(node)) {
    const shape = Object.hasOwn(fields, key) ? fields[key] : others;
    if (shape) view[key] = toZodInput(value, shape);
  }
  return view;
}
