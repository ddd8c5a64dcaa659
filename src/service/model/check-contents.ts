import { Buffer } from 'node:buffer';
import { parseJson } from '../../json/document.ts';
import { isTrue, itemsOf, type JsonNode, kindOf, member, membersOf, rootOf } from '../../json/node.ts';
import { canonical } from './canonical.ts';
import type { Check } from './check.ts';
import { limitOf } from './check-scalars.ts';
import { Unsure } from './unsure.ts';

/** The checks of keywords about what a list or an object holds. */
export const contentChecks: ReadonlyMap<string, Check> = new Map<string, Check>([
  ['minItems', ofList(({ value, rule }) => items(value).length >= limitOf(rule, 'minItems'))],
  ['maxItems', ofList(({ value, rule }) => items(value).length <= limitOf(rule, 'maxItems'))],
  [
    'uniqueItems',
    ofList(({ value, rule }) => {
      const texts = items(value).map((item) => canonical(item));
      return !isTrue(rule) || new Set(texts).size === texts.length;
    }),
  ],
  [
    'prefixItems',
    ofList(({ value, rule, holds }) => {
      const values = items(value);
      return items(rule).every((part, at) => {
        const item = values[at];
        return !item || holds(item, part);
      });
    }),
  ],
  [
    'items',
    ofList(({ value, rule, schema, reader, holds }) => {
      // A list was what is now called prefixItems.
      if (kindOf(rule) === 'list') throw new Unsure('items');
      const rest = items(value).slice(reader.listAt(schema, 'prefixItems').length);
      return rest.every((item) => holds(item, rule));
    }),
  ],
  [
    'contains',
    ofList(({ value, rule, schema, reader, holds }) => {
      const found = items(value).filter((item) => holds(item, rule)).length;
      const least = reader.member(schema, 'minContains');
      const most = reader.member(schema, 'maxContains');
      return found >= (least ? limitOf(least, 'minContains') : 1) && (!most || found <= limitOf(most, 'maxContains'));
    }),
  ],
  ['minProperties', ofObject(({ value, rule }) => names(value).size >= limitOf(rule, 'minProperties'))],
  ['maxProperties', ofObject(({ value, rule }) => names(value).size <= limitOf(rule, 'maxProperties'))],
  [
    'required',
    ofObject(({ value, schema, reader }) => {
      const present = names(value);
      return reader.stringsAt(schema, 'required').every((name) => present.has(name));
    }),
  ],
  [
    'properties',
    ofObject(({ value, rule, reader, holds }) =>
      Array.from(membersOf(value)).every(({ key, value: inner }) => {
        const part = reader.member(rule, key);
        return !part || holds(inner, part);
      }),
    ),
  ],
  [
    'additionalProperties',
    ofObject(({ value, rule, schema, reader, holds }) => {
      const properties = reader.member(schema, 'properties');
      return Array.from(membersOf(value)).every(
        ({ key, value: inner }) => (properties && reader.member(properties, key)) || holds(inner, rule),
      );
    }),
  ],
  [
    'propertyNames',
    ofObject(({ value, rule, holds }) =>
      Array.from(names(value)).every((name) => holds(rootOf(parseJson(Buffer.from(JSON.stringify(name)))), rule)),
    ),
  ],
  [
    'dependentRequired',
    ofObject(({ value, rule, reader }) => {
      const present = names(value);
      return [...present].every((name) => reader.stringsAt(rule, name).every((other) => present.has(other)));
    }),
  ],
  [
    'dependentSchemas',
    ofObject(({ value, rule, holds }) =>
      Array.from(membersOf(rule)).every(({ key, value: part }) => !member(value, key) || holds(value, part)),
    ),
  ],
]);

function ofList(check: Check): Check {
  return (scope) => kindOf(scope.value) !== 'list' || check(scope);
}

function ofObject(check: Check): Check {
  return (scope) => kindOf(scope.value) !== 'object' || check(scope);
}

function items(node: JsonNode): JsonNode[] {
  return Array.from(itemsOf(node));
}

function names(node: JsonNode): Set<string> {
  return new Set(Array.from(membersOf(node), ({ key }) => key));
}
