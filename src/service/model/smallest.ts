import { itemsOf, type JsonNode, kindOf, member, rootOf, stringOf, textOf } from '../../json/node.ts';
import { nodeAt } from '../../json/path.ts';

// A schema may refer to itself; deeper than this the value is left to be what it may.
const DEEPEST = 32;

/** The JSON text of a small value that a JSON Schema allows; `root` is the document that `$ref`s start from. */
export function smallestValue(schema: JsonNode, root: JsonNode = rootOf(schema.doc), depth = 0): string {
  const referred = member(schema, '$ref');
  if (depth > DEEPEST) return 'null';
  if (referred && kindOf(referred) === 'string') {
    const target = resolved(stringOf(referred), root);
    return target ? smallestValue(target, root, depth + 1) : 'null';
  }
  const fixed = member(schema, 'const') ?? firstOf(member(schema, 'enum'));
  if (fixed) return textOf(fixed);
  const option = firstOf(member(schema, 'anyOf')) ?? firstOf(member(schema, 'oneOf'));
  if (option) return smallestValue(option, root, depth + 1);
  switch (typeOf(schema)) {
    case 'object':
      return smallestObject(schema, root, depth);
    case 'array': {
      const items = member(schema, 'items');
      const one = items ? smallestValue(items, root, depth + 1) : 'null';
      return `[${Array.from({ length: numberIn(schema, 'minItems') ?? 0 }, () => one).join(',')}]`;
    }
    case 'string':
      return smallestString(schema);
    case 'integer':
    case 'number':
      return smallestNumber(schema);
    case 'boolean':
      return 'false';
    default:
      return 'null';
  }
}

function smallestObject(schema: JsonNode, root: JsonNode, depth: number): string {
  const parts = [schema, ...Array.from(itemsOf(member(schema, 'allOf') ?? schema))];
  const required = new Set(parts.flatMap((part) => Array.from(itemsOf(member(part, 'required') ?? part), stringOf)));
  const entries = Array.from(required, (name) => {
    const property = parts.map((part) => nodeAt(part, ['properties', name])).find((found) => found !== undefined);
    return `${JSON.stringify(name)}:${property ? smallestValue(property, root, depth + 1) : 'null'}`;
  });
  return `{${entries.join(',')}}`;
}

// Readers that check formats would refuse an empty string.
const SAMPLES: { readonly [format: string]: string } = {
  'date-time': '1970-01-01T00:00:00Z',
  date: '1970-01-01',
  time: '00:00:00Z',
  uuid: '00000000-0000-0000-0000-000000000000',
  email: 'a@example.com',
  uri: 'http://example.com',
};

function smallestString(schema: JsonNode): string {
  const format = member(schema, 'format');
  const sample = format && kindOf(format) === 'string' ? SAMPLES[stringOf(format)] : undefined;
  return JSON.stringify(sample ?? 'a'.repeat(numberIn(schema, 'minLength') ?? 0));
}

function smallestNumber(schema: JsonNode): string {
  const least = numberIn(schema, 'minimum') ?? nextAbove(numberIn(schema, 'exclusiveMinimum'));
  const most = numberIn(schema, 'maximum') ?? numberIn(schema, 'exclusiveMaximum');
  const number = least ?? (most !== undefined && most <= 0 ? Math.floor(most) - 1 : 0);
  const step = numberIn(schema, 'multipleOf') ?? (typeOf(schema) === 'integer' ? 1 : undefined);
  return String(step === undefined ? number : Math.ceil(number / step) * step);
}

function nextAbove(limit: number | undefined): number | undefined {
  return limit === undefined ? undefined : Math.floor(limit) + 1;
}

function typeOf(schema: JsonNode): string {
  const type = member(schema, 'type');
  const named = type && kindOf(type) === 'list' ? firstOf(type) : type;
  if (named && kindOf(named) === 'string') return stringOf(named);
  if (member(schema, 'properties') || member(schema, 'required')) return 'object';
  const part = firstOf(member(schema, 'allOf'));
  return part ? typeOf(part) : '';
}

function firstOf(list: JsonNode | undefined): JsonNode | undefined {
  if (list) for (const item of itemsOf(list)) return item;
  return undefined;
}

function numberIn(schema: JsonNode, name: string): number | undefined {
  const value = member(schema, name);
  return value && kindOf(value) === 'number' ? Number(textOf(value)) : undefined;
}

function resolved(reference: string, root: JsonNode): JsonNode | undefined {
  if (!reference.startsWith('#')) return undefined;
  const steps = reference
    .split('/')
    .slice(1)
    .map((step) => decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~'));
  return nodeAt(root, steps);
}
