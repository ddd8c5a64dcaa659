import { applySplices } from '../json/edit.ts';
import { endOffset, type JsonNode, kindOf, membersOf, rawText, startOffset, stringOf } from '../json/json-node.ts';
import type { Operation } from './operation.ts';

/** The values of the secret fields; JSON text for those that are not strings. */
export function secretValues(root: JsonNode, operation: Operation): string[] {
  return secretFields(root, operation).map(({ value }) =>
    kindOf(value) === 'string' ? stringOf(value) : rawText(value),
  );
}

/** A body with `placeholder(name)` in place of every secret value; all other bytes stay. */
export function redactSecretFields(root: JsonNode, operation: Operation, placeholder: (name: string) => string) {
  const splices = secretFields(root, operation).map(({ name, value }) => ({
    start: startOffset(value),
    end: endOffset(value),
    text: JSON.stringify(placeholder(name)),
  }));
  return splices.length === 0 ? root.doc.bytes : applySplices(root.doc.bytes, splices);
}

// Those that have a value; a name that is given twice has two.
function secretFields(root: JsonNode, { body }: Operation): { readonly name: string; readonly value: JsonNode }[] {
  return Array.from(membersOf(root)).flatMap(({ key: name, value }) =>
    Object.hasOwn(body, name) && body[name]?.isSecret && kindOf(value) !== 'null' ? [{ name, value }] : [],
  );
}
