import { Buffer } from 'node:buffer';
import { parseJson } from '../../json/document.ts';
import { type JsonNode, kindOf, rootOf, textOf } from '../../json/node.ts';
import { alternatives } from './alternatives.ts';
import type { Spend } from './budget.ts';
import { isFalse, violation } from './check.ts';
import { lists } from './lists.ts';
import type { Maker } from './maker.ts';
import { numbers } from './numbers.ts';
import { objects } from './objects.ts';
import type { SchemaReader } from './schema-reader.ts';
import { strings } from './strings.ts';
import { Unsure } from './unsure.ts';

// After so many wrong ones in a row no right one is to be expected.
const MOST_WRONG = 64;

const TYPES = ['null', 'boolean', 'number', 'string', 'array', 'object'] as const;

/** A maker of values that nest at most `deepest` levels; each value it gives has been checked. */
export function makerOf(reader: SchemaReader, spend: Spend, deepest: number, blame: Maker['blame']): Maker {
  const maker: Maker = { reader, spend, blame, values };
  return maker;

  function* values(schemas: readonly JsonNode[], depth: number): Generator<string> {
    if (depth > deepest) return blame('$ref');
    for (const parts of alternatives(schemas, maker)) {
      for (const source of sources(parts, depth, maker)) yield* right(source, schemas, maker);
    }
  }
}

function* right(source: Iterable<string>, schemas: readonly JsonNode[], maker: Maker): Generator<string> {
  let wrong = 0;
  for (const text of source) {
    const keyword = wrongWith(text, schemas, maker);
    if (keyword === undefined) {
      wrong = 0;
      yield text;
      continue;
    }
    maker.blame(keyword);
    wrong += 1;
    if (wrong === MOST_WRONG) return;
  }
}

function wrongWith(text: string, schemas: readonly JsonNode[], { reader, spend }: Maker): string | undefined {
  spend(text.length);
  const value = rootOf(parseJson(Buffer.from(text)));
  try {
    for (const schema of schemas) {
      const keyword = violation(value, schema, reader);
      if (keyword !== undefined) return keyword;
    }
    return undefined;
  } catch (error) {
    if (error instanceof Unsure) return error.keyword;
    throw error;
  }
}

function sources(parts: readonly JsonNode[], depth: number, maker: Maker): Iterable<string>[] {
  const { reader, blame } = maker;
  if (parts.some(isFalse)) {
    blame('false');
    return [];
  }
  for (const part of parts) {
    const constant = reader.member(part, 'const');
    const allowed = constant ? [constant] : reader.listAt(part, 'enum');
    // Each of its own, because all of them are worth a try.
    if (allowed.length > 0) return allowed.map((one) => [textOf(one)]);
  }
  return typesOf(parts, reader).map((type) => ofType(type, parts, depth, maker));
}

function ofType(type: string, parts: readonly JsonNode[], depth: number, maker: Maker): Iterable<string> {
  const { reader, spend } = maker;
  switch (type) {
    case 'object':
      return objects(parts, depth, maker);
    case 'array':
      return lists(parts, depth, maker);
    case 'string':
      return strings(parts, reader, spend);
    case 'integer':
    case 'number':
      return numbers(
        parts,
        parts.some((part) => namedTypes(part, reader).includes('integer')),
        reader,
      );
    case 'boolean':
      return ['false', 'true'];
    default:
      return ['null'];
  }
}

// Of a schema in parts the first that names types says which; what only describes members means an object.
function typesOf(parts: readonly JsonNode[], reader: SchemaReader): readonly string[] {
  const named = parts.map((part) => namedTypes(part, reader)).find((types) => types.length > 0);
  if (named) return named;
  const isObject = parts.some((part) => reader.member(part, 'properties') ?? reader.member(part, 'required'));
  return isObject ? ['object', ...TYPES] : TYPES;
}

function namedTypes(part: JsonNode, reader: SchemaReader): string[] {
  const type = reader.member(part, 'type');
  if (!type) return [];
  return kindOf(type) === 'string' ? [reader.stringAt(part, 'type') ?? ''] : reader.stringsAt(part, 'type');
}
