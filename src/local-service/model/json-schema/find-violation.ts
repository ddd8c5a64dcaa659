import { isTrue, itemsOf, type JsonNode, kindOf, membersOf } from '../../../json/json-node.ts';
import { containerKeywords } from './container-keywords.ts';
import { scalarKeywords } from './scalar-keywords.ts';
import type { SchemaReader } from './schema-reader.ts';
import { UnsupportedKeyword } from './unsupported-keyword.ts';

/** What a check of one keyword can look at; `holds` tells whether a value keeps to another schema. */
export interface KeywordContext {
  readonly value: JsonNode;
  /** What stands under the keyword, and the schema it stands in. */
  readonly rule: JsonNode;
  readonly schema: JsonNode;
  readonly reader: SchemaReader;
  readonly isValid: (value: JsonNode, schema: JsonNode) => boolean;
}

/** True when the value keeps to a keyword. Throws if that cannot be decided. */
export type KeywordCheck = (scope: KeywordContext) => boolean;

// A schema that refers to itself about the same value would never end.
const MAX_SCHEMA_DEPTH = 200;

const combinatorKeywords: ReadonlyMap<string, KeywordCheck> = new Map<string, KeywordCheck>([
  ['allOf', ({ value, rule, isValid }) => Array.from(itemsOf(rule)).every((part) => isValid(value, part))],
  ['anyOf', ({ value, rule, isValid }) => Array.from(itemsOf(rule)).some((part) => isValid(value, part))],
  [
    'oneOf',
    ({ value, rule, isValid }) => Array.from(itemsOf(rule)).filter((part) => isValid(value, part)).length === 1,
  ],
  ['not', ({ value, rule, isValid }) => !isValid(value, rule)],
  [
    'if',
    ({ value, rule, schema, reader, isValid }) => {
      const branch = reader.property(schema, isValid(value, rule) ? 'then' : 'else');
      return !branch || isValid(value, branch);
    },
  ],
  [
    '$ref',
    ({ value, schema, reader, isValid }) => {
      const target = reader.resolveReference(reader.stringAt(schema, '$ref') ?? '');
      if (!target) throw new UnsupportedKeyword('$ref');
      return isValid(value, target);
    },
  ],
]);

// Of these nothing is understood but that they say nothing about values of another kind, or empty ones.
const unsupportedKeywords: ReadonlyMap<string, KeywordCheck> = new Map<string, KeywordCheck>([
  ...['patternProperties', 'unevaluatedProperties', 'dependencies'].map((keyword): [string, KeywordCheck] => [
    keyword,
    ({ value }) => requireEmpty(value, 'object', membersOf(value), keyword),
  ]),
  ...['unevaluatedItems', 'additionalItems'].map((keyword): [string, KeywordCheck] => [
    keyword,
    ({ value }) => requireEmpty(value, 'list', itemsOf(value), keyword),
  ]),
  ...['$dynamicRef', '$recursiveRef'].map((keyword): [string, KeywordCheck] => [
    keyword,
    () => {
      throw new UnsupportedKeyword(keyword);
    },
  ]),
]);

const keywordChecks: ReadonlyMap<string, KeywordCheck> = new Map([
  ...combinatorKeywords,
  ...unsupportedKeywords,
  ...scalarKeywords,
  ...containerKeywords,
]);

/**
 * The first keyword of a JSON Schema (2020-12) that a value does not keep to; undefined where it keeps to all. Words
 * that are no keywords, and formats, say nothing. Throws Unsure where a keyword is not understood.
 */
export function findViolation(value: JsonNode, schema: JsonNode, reader: SchemaReader, depth = 0): string | undefined {
  if (depth > MAX_SCHEMA_DEPTH) throw new UnsupportedKeyword('$ref');
  if (isFalseSchema(schema)) return 'false';
  const isValid: KeywordContext['isValid'] = (inner, part) =>
    findViolation(inner, part, reader, depth + 1) === undefined;
  for (const [keyword, rule] of reader.properties(schema)) {
    if (keywordChecks.get(keyword)?.({ value, rule, schema, reader, isValid }) === false) return keyword;
  }
  return undefined;
}

/** True for the schema that allows nothing. */
export function isFalseSchema(schema: JsonNode): boolean {
  return kindOf(schema) === 'boolean' && !isTrue(schema);
}

function requireEmpty(value: JsonNode, kind: 'object' | 'list', contents: Iterable<unknown>, keyword: string): boolean {
  if (kindOf(value) === kind) for (const _ of contents) throw new UnsupportedKeyword(keyword);
  return true;
}
