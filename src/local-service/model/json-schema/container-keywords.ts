import { Buffer } from 'node:buffer';
import { getMember, isTrue, itemsOf, type JsonNode, kindOf, membersOf, rootOf } from '../../../json/json-node.ts';
import { parseJson } from '../../../json/parse-json.ts';
import { canonicalJson } from './canonical-json.ts';
import type { KeywordCheck } from './find-violation.ts';
import { countLimit } from './scalar-keywords.ts';
import { UnsupportedKeyword } from './unsupported-keyword.ts';

/** The checks of keywords about what a list or an object holds. */
export const containerKeywords: ReadonlyMap<string, KeywordCheck> = new Map<string, KeywordCheck>([
  ['minItems', forArrays(({ value, rule }) => arrayItems(value).length >= countLimit(rule, 'minItems'))],
  ['maxItems', forArrays(({ value, rule }) => arrayItems(value).length <= countLimit(rule, 'maxItems'))],
  [
    'uniqueItems',
    forArrays(({ value, rule }) => {
      const texts = arrayItems(value).map((item) => canonicalJson(item));
      return !isTrue(rule) || new Set(texts).size === texts.length;
    }),
  ],
  [
    'prefixItems',
    forArrays(({ value, rule, isValid }) => {
      const values = arrayItems(value);
      return arrayItems(rule).every((part, at) => {
        const item = values[at];
        return !item || isValid(item, part);
      });
    }),
  ],
  [
    'items',
    forArrays(({ value, rule, schema, reader, isValid }) => {
      // A list was what is now called prefixItems.
      if (kindOf(rule) === 'list') throw new UnsupportedKeyword('items');
      const rest = arrayItems(value).slice(reader.arrayAt(schema, 'prefixItems').length);
      return rest.every((item) => isValid(item, rule));
    }),
  ],
  [
    'contains',
    forArrays(({ value, rule, schema, reader, isValid }) => {
      const found = arrayItems(value).filter((item) => isValid(item, rule)).length;
      const least = reader.property(schema, 'minContains');
      const most = reader.property(schema, 'maxContains');
      return (
        found >= (least ? countLimit(least, 'minContains') : 1) && (!most || found <= countLimit(most, 'maxContains'))
      );
    }),
  ],
  ['minProperties', forObjects(({ value, rule }) => keysOf(value).size >= countLimit(rule, 'minProperties'))],
  ['maxProperties', forObjects(({ value, rule }) => keysOf(value).size <= countLimit(rule, 'maxProperties'))],
  [
    'required',
    forObjects(({ value, schema, reader }) => {
      const present = keysOf(value);
      return reader.stringsAt(schema, 'required').every((name) => present.has(name));
    }),
  ],
  [
    'properties',
    forObjects(({ value, rule, reader, isValid }) =>
      Array.from(membersOf(value)).every(({ key, value: inner }) => {
        const part = reader.property(rule, key);
        return !part || isValid(inner, part);
      }),
    ),
  ],
  [
    'additionalProperties',
    forObjects(({ value, rule, schema, reader, isValid }) => {
      const properties = reader.property(schema, 'properties');
      return Array.from(membersOf(value)).every(
        ({ key, value: inner }) => (properties && reader.property(properties, key)) || isValid(inner, rule),
      );
    }),
  ],
  [
    'propertyNames',
    forObjects(({ value, rule, isValid }) =>
      Array.from(keysOf(value)).every((name) => isValid(rootOf(parseJson(Buffer.from(JSON.stringify(name)))), rule)),
    ),
  ],
  [
    'dependentRequired',
    forObjects(({ value, rule, reader }) => {
      const present = keysOf(value);
      return [...present].every((name) => reader.stringsAt(rule, name).every((other) => present.has(other)));
    }),
  ],
  [
    'dependentSchemas',
    forObjects(({ value, rule, isValid }) =>
      Array.from(membersOf(rule)).every(({ key, value: part }) => !getMember(value, key) || isValid(value, part)),
    ),
  ],
]);

function forArrays(check: KeywordCheck): KeywordCheck {
  return (scope) => kindOf(scope.value) !== 'list' || check(scope);
}

function forObjects(check: KeywordCheck): KeywordCheck {
  return (scope) => kindOf(scope.value) !== 'object' || check(scope);
}

function arrayItems(node: JsonNode): JsonNode[] {
  return Array.from(itemsOf(node));
}

function keysOf(node: JsonNode): Set<string> {
  return new Set(Array.from(membersOf(node), ({ key }) => key));
}
