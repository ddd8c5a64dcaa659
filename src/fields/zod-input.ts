import { itemsOf, type JsonNode, kindOf, membersOf, stringOf } from '../json/json-node.ts';
import type { JsonPath } from '../json/json-path.ts';
import { adviseField, unknownFieldFinding } from './advice.ts';
import type { Fields, Shape } from './field.ts';
import { type PendingFinding, pendingWarning } from './finding.ts';
import { isToleratedForm, toleratedFormMessage } from './mismatch-message.ts';

/** A value for zod: plain values down to the depth of the shape, nodes below. */
export type ZodInput =
  | typeof notAnObject
  | null
  | boolean
  | string
  | JsonNode
  | ZodInput[]
  | { [key: string]: ZodInput };

/** Receives the warnings of the walk; undefined if none are wanted. */
export type AddFinding = ((finding: PendingFinding) => void) | undefined;

/** Replaces a value that should be an object and is not, because zod would accept a node as an object. */
const notAnObject = Symbol('not an object');

/**
 * Walks a value under a shape once: returns the input of zod, which finds the errors, and adds the warnings on the way.
 * Forms that servers tolerate are warnings and left out. The walk is only as deep as the shape, so the depth of a
 * payload does not matter; numbers stay nodes, because their text decides.
 */
export function toZodInput(node: JsonNode, shape: Shape, path: JsonPath, add: AddFinding): ZodInput {
  const kind = kindOf(node);
  if (kind === 'null') return null;
  switch (shape.type) {
    case 'string':
      return kind === 'string' ? stringOf(node) : node;
    case 'list': {
      if (kind !== 'list') return node;
      const needsPath = add && isContainer(shape.of);
      return Array.from(itemsOf(node), (item, at) => toZodInput(item, shape.of, needsPath ? [...path, at] : path, add));
    }
    case 'object':
      if (!(shape.fields || shape.values)) return node;
      if (kind !== 'object') return notAnObject;
      return objectToZodInput(node, shape, path, add);
    case 'either':
      return toZodInput(node, shape.of.find(({ type }) => type === kind) ?? { type: 'json' }, path, add);
    default:
      return node;
  }
}

// A scalar has no findings of its own here, so its path is never read.
function isContainer({ type }: Shape): boolean {
  return type === 'list' || type === 'object' || type === 'either';
}

type ObjectShape = Extract<Shape, { readonly type: 'object' }>;

const noFields: Fields = {};

function objectToZodInput(node: JsonNode, shape: ObjectShape, path: JsonPath, add: AddFinding): ZodInput {
  const { fields = noFields, values: others, hasOpenFields } = shape;
  // Without a prototype, `__proto__` is an ordinary name; no field has such a name, and an object with one takes half the time.
  const input: { [key: string]: ZodInput } = others ? Object.create(null) : {};
  const siblings = new Map<string, JsonNode>();
  for (const { key, value } of membersOf(node)) siblings.set(key, value);
  for (const [key, value] of siblings) {
    const field = Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (field) {
      if (isToleratedForm(value, field)) {
        // A null that most servers reject as missing gets the warning about that alone.
        const isMissing = field.advice?.required && kindOf(value) === 'null';
        if (!add || isMissing) continue;
        const describe = () => ({ path: [...path, key], message: toleratedFormMessage(value, field) });
        add(pendingWarning('tolerated', value, describe));
        adviseField(key, field, value, siblings, path, add);
        continue;
      }
      input[key] = toZodInput(value, field, add && isContainer(field) ? [...path, key] : path, add);
      if (add) adviseField(key, field, value, siblings, path, add);
    } else if (others) input[key] = toZodInput(value, others, path, add);
    else if (add && shape.fields && !hasOpenFields) add(unknownFieldFinding(key, value, fields, path));
  }
  if (add) addMissingFields(node, fields, siblings, path, add);
  return input;
}

// The interface leaves these fields optional, and most servers require them.
function addMissingFields(
  node: JsonNode,
  fields: Fields,
  siblings: ReadonlyMap<string, JsonNode>,
  path: JsonPath,
  add: NonNullable<AddFinding>,
): void {
  for (const name in fields) {
    const field = fields[name];
    if (!field?.advice?.required) continue;
    const value = siblings.get(name);
    const message = value ? 'must not be null; most servers reject it' : 'is required by most servers';
    if (!value || (kindOf(value) === 'null' && isToleratedForm(value, field)))
      add(pendingWarning(value ? 'null' : 'missing', value ?? node, () => ({ path: [...path, name], message })));
  }
}
