import { itemsOf, type JsonNode, type JsonPath, kindOf, membersOf, stringOf } from '../json/json-node.ts';
import { closestMatch, joinWithOr } from './closest-match.ts';
import type { BrokenRule } from './finding.ts';

// The types, and what languages of programs call them.
const namesOfTypes: { readonly [type: string]: string } = {
  string: 'str text char',
  number: 'float double decimal',
  integer: 'int long',
  boolean: 'bool',
  object: 'dict map record',
  array: 'list tuple',
  null: 'none',
};
const types = Object.keys(namesOfTypes);

// By what their value is: a schema, schemas in an object, schemas in an array, or anything else.
const keywords = {
  schema: words(
    'additionalItems additionalProperties contains contentSchema else if items not propertyNames then unevaluatedItems unevaluatedProperties',
  ),
  object: words('$defs definitions dependentSchemas patternProperties properties'),
  array: words('allOf anyOf items oneOf prefixItems'),
  other: words(
    '$anchor $comment $dynamicAnchor $dynamicRef $id $recursiveRef $ref $schema $vocabulary const contentEncoding contentMediaType default dependencies dependentRequired deprecated description discriminator enum example examples exclusiveMaximum exclusiveMinimum format id maxContains maximum maxItems maxLength maxProperties minContains minimum minItems minLength minProperties multipleOf pattern readOnly required title type uniqueItems writeOnly nullable',
  ),
};
const known = Object.values(keywords).flat();

function words(text: string): readonly string[] {
  return text.split(' ');
}

// Deeper schemas are not checked: a call stack limits the depth.
const MAX_DEPTH = 100;

/** The values of `type` that JSON Schema does not have, and keywords that are likely misspelled, in a schema at a path. */
export function* schemaMistakes(schema: JsonNode, path: JsonPath, depth = 0): Generator<BrokenRule> {
  if (kindOf(schema) !== 'object' || depth > MAX_DEPTH) return;
  for (const { key, value } of membersOf(schema)) {
    const at = [...path, key];
    if (key === 'type') yield* typeMistakes(value, at);
    if (key === 'required' && kindOf(value) !== 'list')
      yield { path: at, message: 'must be an array of names, in the schema of the object' };
    const near = known.includes(key) ? undefined : closestMatch(key, known);
    if (near) yield { path: at, message: `is not a keyword of JSON Schema; did you mean ${near}?`, code: 'unwise' };
    if (keywords.schema.includes(key)) yield* schemaMistakes(value, at, depth + 1);
    if (keywords.object.includes(key) && kindOf(value) === 'object')
      for (const inner of membersOf(value)) yield* schemaMistakes(inner.value, [...at, inner.key], depth + 1);
    if (keywords.array.includes(key) && kindOf(value) === 'list')
      for (const [index, item] of Array.from(itemsOf(value)).entries())
        yield* schemaMistakes(item, [...at, index], depth + 1);
  }
}

function* typeMistakes(value: JsonNode, path: JsonPath): Generator<BrokenRule> {
  const isList = kindOf(value) === 'list';
  for (const [index, item] of (isList ? Array.from(itemsOf(value)) : [value]).entries()) {
    const text = kindOf(item) === 'string' ? stringOf(item) : undefined;
    if (text !== undefined && types.includes(text)) continue;
    const name = text?.toLowerCase() ?? '';
    const near =
      types.find((one) => `${one} ${namesOfTypes[one]}`.split(' ').includes(name)) ?? closestMatch(name, types);
    const hint = near ? `; did you mean ${JSON.stringify(near)}?` : '';
    const what = text === undefined ? '' : `, not ${JSON.stringify(text)}`;
    yield {
      path: isList ? [...path, index] : path,
      message: `must be ${joinWithOr(types.map((one) => JSON.stringify(one)))}${what}${hint}`,
    };
  }
}
