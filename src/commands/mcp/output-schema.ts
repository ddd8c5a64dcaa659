import type { Fields, Shape } from '../../fields/field.ts';
import type { JsonValue } from '../../json/write-json.ts';
import type { Operation } from '../../operations/operation.ts';

type JsonSchema = { readonly [keyword: string]: JsonValue };

/**
 * The JSON Schema of the structured content of a tool. It describes every field and rejects only what svc rejects: servers
 * send null, or other types than the interface has, and clients do not accept a result that its schema rejects.
 */
export function outputSchema({ reply, result: { member, as } }: Operation): JsonSchema {
  const properties = describeFields(reply);
  const result = as === 'record' ? {} : { type: 'array' };
  return {
    type: 'object',
    properties: { ...properties, [member]: { ...properties[member], ...result } },
    required: [member],
  };
}

function describeFields(fields: Fields): { readonly [name: string]: JsonSchema } {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, { description: field.summary, ...describeShape(field) }]),
  );
}

// Keywords without `type` hold for values of their own type alone.
function describeShape(shape: Shape): JsonSchema {
  if (shape.type === 'list') return { items: describeShape(shape.of) };
  return shape.type === 'object' && shape.fields ? { properties: describeFields(shape.fields) } : {};
}
