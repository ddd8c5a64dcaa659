import { isTrue, itemsOf, type JsonNode, kindOf, membersOf } from '../../json/node.ts';
import { contentChecks } from './check-contents.ts';
import { scalarChecks } from './check-scalars.ts';
import type { SchemaReader } from './schema-reader.ts';
import { Unsure } from './unsure.ts';

/** What a check of one keyword can look at; `holds` tells whether a value keeps to another schema. */
export interface Scope {
  readonly value: JsonNode;
  /** What stands under the keyword, and the schema it stands in. */
  readonly rule: JsonNode;
  readonly schema: JsonNode;
  readonly reader: SchemaReader;
  readonly holds: (value: JsonNode, schema: JsonNode) => boolean;
}

/** True when the value keeps to a keyword. Throws Unsure where that cannot be told. */
export type Check = (scope: Scope) => boolean;

// A schema that refers to itself about the same value would never end.
const DEEPEST = 200;

const combined: ReadonlyMap<string, Check> = new Map<string, Check>([
  ['allOf', ({ value, rule, holds }) => Array.from(itemsOf(rule)).every((part) => holds(value, part))],
  ['anyOf', ({ value, rule, holds }) => Array.from(itemsOf(rule)).some((part) => holds(value, part))],
  ['oneOf', ({ value, rule, holds }) => Array.from(itemsOf(rule)).filter((part) => holds(value, part)).length === 1],
  ['not', ({ value, rule, holds }) => !holds(value, rule)],
  [
    'if',
    ({ value, rule, schema, reader, holds }) => {
      const branch = reader.member(schema, holds(value, rule) ? 'then' : 'else');
      return !branch || holds(value, branch);
    },
  ],
  [
    '$ref',
    ({ value, schema, reader, holds }) => {
      const target = reader.referred(reader.stringAt(schema, '$ref') ?? '');
      if (!target) throw new Unsure('$ref');
      return holds(value, target);
    },
  ],
]);

// Of these nothing is understood but that they say nothing about values of another kind, or empty ones.
const unknown: ReadonlyMap<string, Check> = new Map<string, Check>([
  ...['patternProperties', 'unevaluatedProperties', 'dependencies'].map((keyword): [string, Check] => [
    keyword,
    ({ value }) => isSafe(value, 'object', membersOf(value), keyword),
  ]),
  ...['unevaluatedItems', 'additionalItems'].map((keyword): [string, Check] => [
    keyword,
    ({ value }) => isSafe(value, 'list', itemsOf(value), keyword),
  ]),
  ...['$dynamicRef', '$recursiveRef'].map((keyword): [string, Check] => [
    keyword,
    () => {
      throw new Unsure(keyword);
    },
  ]),
]);

const checks: ReadonlyMap<string, Check> = new Map([...combined, ...unknown, ...scalarChecks, ...contentChecks]);

/**
 * The first keyword of a JSON Schema (2020-12) that a value does not keep to; undefined where it keeps to all. Words
 * that are no keywords, and formats, say nothing. Throws Unsure where a keyword is not understood.
 */
export function violation(value: JsonNode, schema: JsonNode, reader: SchemaReader, depth = 0): string | undefined {
  if (depth > DEEPEST) throw new Unsure('$ref');
  if (isFalse(schema)) return 'false';
  const holds: Scope['holds'] = (inner, part) => violation(inner, part, reader, depth + 1) === undefined;
  for (const [keyword, rule] of reader.members(schema)) {
    if (checks.get(keyword)?.({ value, rule, schema, reader, holds }) === false) return keyword;
  }
  return undefined;
}

/** True for the schema that allows nothing. */
export function isFalse(schema: JsonNode): boolean {
  return kindOf(schema) === 'boolean' && !isTrue(schema);
}

function isSafe(value: JsonNode, kind: 'object' | 'list', contents: Iterable<unknown>, keyword: string): boolean {
  if (kindOf(value) === kind) for (const _ of contents) throw new Unsure(keyword);
  return true;
}
