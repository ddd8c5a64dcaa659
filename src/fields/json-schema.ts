import type { JsonValue } from '../json/write-json.ts';
import type { Field, Fields, Shape } from './field.ts';
import { stringFormats } from './string-formats.ts';

type JsonSchemaObject = { readonly [key: string]: JsonValue | undefined };

/**
 * The JSON Schema (2020-12) of an object with these members. It and the validator give the same verdicts: forms of
 * strings are `pattern`s, because readers of schemas disagree about `format`.
 */
export function objectSchema(fields: Fields): JsonSchemaObject {
  const required = Object.keys(fields).filter((name) => fields[name]?.required);
  const exclusions = Object.entries(fields).flatMap(([name, { excludes }]) =>
    excludes
      ? [{ not: { required: [name, excludes], properties: { [name]: trueSchema, [excludes]: trueSchema } } }]
      : [],
  );
  return {
    type: 'object',
    properties: Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, fieldSchema(field)])),
    required: required.length > 0 ? required : undefined,
    allOf: exclusions.length > 0 ? exclusions : undefined,
  };
}

const trueSchema = { const: true };

function fieldSchema(field: Field): JsonSchemaObject {
  return {
    description: field.summary,
    ...(field.filledByService ? { type: 'null', readOnly: true } : shapeSchema(field)),
    default: field.default,
    deprecated: field.deprecated ? true : undefined,
  };
}

function shapeSchema(shape: Shape): JsonSchemaObject {
  const type = (name: string): JsonValue => (shape.nullable ? [name, 'null'] : name);
  switch (shape.type) {
    case 'string':
      return {
        type: type('string'),
        enum: shape.oneOf && (shape.nullable ? [...shape.oneOf, null] : shape.oneOf),
        pattern: shape.format && stringFormats[shape.format].pattern,
      };
    case 'number':
    case 'integer':
      return { type: type(shape.type), minimum: shape.min, maximum: shape.max };
    case 'boolean':
      return { type: type('boolean') };
    case 'list':
      return { type: type('array'), items: shapeSchema(shape.of) };
    case 'object':
      if (shape.fields) return { ...objectSchema(shape.fields), type: type('object') };
      return { type: type('object'), additionalProperties: shape.values && shapeSchema(shape.values) };
    case 'either': {
      const options = shape.of.map(shapeSchema);
      return { anyOf: shape.nullable ? [...options, { type: 'null' }] : options };
    }
    case 'json':
      return {};
  }
}
