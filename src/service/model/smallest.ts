import { type JsonNode, kindOf, rootOf, stringOf, textOf } from '../../json/node.ts';
import { budgetOf, type Spend } from './budget.ts';
import { smallestNumber, smallestString } from './scalars.ts';
import { type SchemaReader, schemaReader } from './schema-reader.ts';

// A schema may refer to itself; deeper than this the value is left to be what it may.
const DEEPEST = 32;

// Steps through the schema and characters made, together.
const MOST_WORK = 64 * 1024;

interface Work {
  readonly schema: SchemaReader;
  readonly spend: Spend;
}

/**
 * The JSON text of a small value that a JSON Schema allows; `root` is what `$ref`s start from. Throws Refusal 400 where
 * making it would take too long or too much room.
 */
export function smallestValue(schema: JsonNode, root: JsonNode = rootOf(schema.doc)): string {
  const spend = budgetOf(MOST_WORK, 'a value of this JSON Schema');
  return smallest(schema, 0, { schema: schemaReader(root, spend), spend });
}

function smallest(node: JsonNode, depth: number, work: Work): string {
  const { schema, spend } = work;
  if (depth > DEEPEST) return 'null';
  const reference = schema.stringAt(node, '$ref');
  if (reference !== undefined) {
    const target = schema.referred(reference);
    return target ? smallest(target, depth + 1, work) : 'null';
  }
  const fixed = schema.member(node, 'const') ?? schema.listAt(node, 'enum')[0];
  if (fixed) return charged(textOf(fixed), spend);
  const option = schema.listAt(node, 'anyOf')[0] ?? schema.listAt(node, 'oneOf')[0];
  if (option) return smallest(option, depth + 1, work);
  const type = typeOf(node, schema);
  switch (type) {
    case 'object':
      return smallestObject(node, depth, work);
    case 'array':
      return smallestList(node, depth, work);
    case 'string':
      return smallestString(node, schema, spend);
    case 'integer':
    case 'number':
      return smallestNumber(node, type, schema);
    case 'boolean':
      return 'false';
    default:
      return 'null';
  }
}

function smallestObject(node: JsonNode, depth: number, work: Work): string {
  const { schema, spend } = work;
  const parts = [node, ...schema.listAt(node, 'allOf')];
  const required = new Set(
    parts
      .flatMap((part) => schema.listAt(part, 'required'))
      .flatMap((name) => (isString(name) ? [stringOf(name)] : [])),
  );
  const entries = Array.from(required, (name) => {
    const key = charged(JSON.stringify(name), spend);
    return `${key}:${valueIn(parts, name, depth, work)}`;
  });
  return `{${entries.join(',')}}`;
}

// What is required need not be described.
function valueIn(parts: readonly JsonNode[], name: string, depth: number, work: Work): string {
  for (const part of parts) {
    const properties = work.schema.member(part, 'properties');
    const property = properties && work.schema.member(properties, name);
    if (property) return smallest(property, depth + 1, work);
  }
  return 'null';
}

function smallestList(node: JsonNode, depth: number, work: Work): string {
  const count = Math.max(0, Math.ceil(work.schema.numberAt(node, 'minItems') ?? 0));
  if (count === 0) return '[]';
  const items = work.schema.member(node, 'items');
  const one = items ? smallest(items, depth + 1, work) : 'null';
  work.spend(count * (one.length + 1));
  return `[${Array.from({ length: count }, () => one).join(',')}]`;
}

// Of a schema in parts the first part says it, however deep that one is in parts again.
function typeOf(node: JsonNode, schema: SchemaReader): string {
  for (let part: JsonNode | undefined = node; part; [part] = schema.listAt(part, 'allOf')) {
    const named = schema.stringAt(part, 'type') ?? schema.listAt(part, 'type').filter(isString).map(stringOf)[0];
    if (named !== undefined) return named;
    if (schema.member(part, 'properties') || schema.member(part, 'required')) return 'object';
  }
  return '';
}

function isString(node: JsonNode): boolean {
  return kindOf(node) === 'string';
}

function charged(text: string, spend: Spend): string {
  spend(text.length);
  return text;
}
