import type { Buffer } from 'node:buffer';
import { applySplices, splicesToSetMembers } from '../json/edit.ts';
import { type JsonNode, kindOf, membersOf } from '../json/json-node.ts';
import type { Operation } from './operation.ts';

/** The secret fields of a body that have a value; a name that is given twice has two. */
export function secretFields(
  root: JsonNode,
  { body }: Operation,
): { readonly name: string; readonly value: JsonNode }[] {
  return Array.from(membersOf(root)).flatMap(({ key: name, value }) =>
    Object.hasOwn(body, name) && body[name]?.isSecret && kindOf(value) !== 'null' ? [{ name, value }] : [],
  );
}

/** A body with `placeholder(name)` in place of every secret field; the same bytes if it has none. */
export function redactSecretFields(
  root: JsonNode,
  operation: Operation,
  placeholder: (name: string) => string,
): Buffer {
  const { bytes } = root.doc;
  const names = new Set(secretFields(root, operation).map(({ name }) => name));
  if (names.size === 0) return bytes;
  const members = Array.from(names, (key) => ({ key, text: JSON.stringify(placeholder(key)) }));
  return applySplices(bytes, splicesToSetMembers(root, members));
}
