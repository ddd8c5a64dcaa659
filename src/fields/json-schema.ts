import { type JsonValue, writeJson } from '../json/write-json.ts';
import type { Field, Fields, Shape } from './field.ts';
import { type StringFormat, stringFormats } from './string-formats.ts';

/** The purpose of a schema; each session of an agent reads that of a tool, which therefore only has what a model cannot know. */
type SchemaPurpose = 'validation' | 'openapi-body' | 'openapi-response' | 'tool' | 'tool-names';

// Their fields have the names that the engines behind most services use, which models know.
const ENGINE_TOPICS = ['Sampling', 'Engine'];

type JsonSchemaObject = { readonly [key: string]: JsonValue | undefined };

/**
 * JSON Schema 2020-12. It and the validator agree: formats of strings are `pattern`s, because validators disagree about
 * `format`. Fields that svc fills in are not required. The schema of a tool has the forms that APIs accept (docs/internals/servers.md),
 * and describes what these cannot express.
 */
export function objectSchema(
  fields: Fields,
  purpose: SchemaPurpose = 'validation',
  isFilledIn: (field: Field) => boolean = () => false,
): JsonSchemaObject {
  const required = Object.entries(fields).flatMap(([name, field]) =>
    field.required && !isFilledIn(field) ? [name] : [],
  );
  const exclusions = Object.entries(isOfTool(purpose) ? {} : fields).flatMap(([name, { excludes }]) =>
    excludes
      ? [{ not: { required: [name, excludes], properties: { [name]: trueSchema, [excludes]: trueSchema } } }]
      : [],
  );
  return {
    type: 'object',
    properties: Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, fieldSchema(field, purpose)])),
    required: required.length > 0 ? required : undefined,
    allOf: exclusions.length > 0 ? exclusions : undefined,
  };
}

function isOfTool(purpose: SchemaPurpose): boolean {
  return purpose.startsWith('tool');
}

const trueSchema = { const: true };

function fieldSchema(field: Field, purpose: SchemaPurpose): JsonSchemaObject {
  const { summary, defaultsTo, fill, default: value, deprecated, sample } = field;
  const isOpenApi = purpose.startsWith('openapi');
  const isKnown = !field.isCommon && ENGINE_TOPICS.includes(field.topic ?? '');
  // Of a rare object, the names of its parts say enough.
  const isRareObject = !field.isCommon && field.type === 'object';
  const ofParts = purpose === 'tool' && (isKnown || isRareObject) ? 'tool-names' : purpose;
  const hasNoText = purpose === 'tool-names' || (purpose === 'tool' && isKnown);
  const note = isOpenApi && value !== undefined ? ` (default: ${writeJson(value)})` : '';
  // What svc fills in is no default of the service.
  const made = defaultsTo === undefined || (isOpenApi && fill) ? '' : ` (default: ${defaultsTo})`;
  const text = summary + made + note + (deprecated ? ` (deprecated: use ${deprecated})` : '');
  const limits = isOfTool(purpose) ? toolLimits(field) : [];
  const description = [...(hasNoText ? [] : [text]), ...limits].join('; ');
  return {
    description: description === '' ? undefined : description,
    ...(field.isReadOnly ? { type: 'null', readOnly: true } : shapeSchema(field, ofParts)),
    // Type generators make every field with a default required.
    default: purpose === 'validation' ? value : undefined,
    ...(isOpenApi && sample !== undefined ? { examples: [sample] } : {}),
    deprecated: deprecated ? true : undefined,
  };
}

function toolLimits(field: Field): string[] {
  const { min, max } = field.type === 'integer' || field.type === 'number' ? field : {};
  return [
    ...(isExact(min) ? [] : [`at least ${min}`]),
    ...(isExact(max) ? [] : [`at most ${max}`]),
    ...(field.excludes ? [`not with ${field.excludes}`] : []),
  ];
}

// True for a bound that every reader of JSON represents.
function isExact(bound: number | bigint | undefined): boolean {
  return bound === undefined || Number.isSafeInteger(Number(bound)) || !Number.isInteger(Number(bound));
}

function shapeSchema(shape: Shape, purpose: SchemaPurpose): JsonSchemaObject {
  const type = (name: string): JsonValue => (shape.nullable ? [name, 'null'] : name);
  const schemaOf = (inner: Shape): JsonSchemaObject => shapeSchema(inner, purpose);
  if (shape.type === 'json') return {};
  if (shape.type === 'list') return { type: type('array'), items: schemaOf(shape.of) };
  if (shape.type === 'either')
    return { anyOf: [...shape.of.map(schemaOf), ...(shape.nullable ? [{ type: 'null' }] : [])] };
  if (shape.type === 'object') {
    const isOpen = !isOfTool(purpose) && (shape.hasOpenFields || !shape.fields);
    const values = shape.values ? schemaOf(shape.values) : isOpen || undefined;
    const object = shape.fields ? objectSchema(shape.fields, purpose) : {};
    return { ...object, type: type('object'), additionalProperties: values };
  }
  if (shape.type === 'boolean') return { type: type('boolean') };
  if (shape.type !== 'string') {
    const bound = (limit: typeof shape.min) => (isOfTool(purpose) && !isExact(limit) ? undefined : limit);
    return { type: type(shape.type), minimum: bound(shape.min), maximum: bound(shape.max) };
  }
  // Generators of types lose the null of an enum.
  if (shape.oneOf && shape.nullable) return { anyOf: [{ type: 'string', enum: shape.oneOf }, { type: 'null' }] };
  return { type: type('string'), enum: shape.oneOf, ...(shape.format ? formatSchema(shape.format, purpose) : {}) };
}

function formatSchema(format: StringFormat, purpose: SchemaPurpose): JsonSchemaObject {
  const { pattern, sample } = stringFormats[format];
  if (!purpose.startsWith('openapi')) return { pattern };
  const isStandard = format === 'date-time' || format === 'uuid';
  if (!isStandard) return { pattern, examples: [sample] };
  // Mock servers that generate responses cannot satisfy a pattern and a format at once.
  return { ...(purpose === 'openapi-body' ? { pattern } : {}), format, examples: [sample] };
}
