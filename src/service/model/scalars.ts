import type { JsonNode } from '../../json/node.ts';
import type { Spend } from './budget.ts';
import type { SchemaReader } from './schema-reader.ts';

// Readers that check formats would refuse an empty string.
const SAMPLES: ReadonlyMap<string, string> = new Map([
  ['date-time', '1970-01-01T00:00:00Z'],
  ['date', '1970-01-01'],
  ['time', '00:00:00Z'],
  ['uuid', '00000000-0000-0000-0000-000000000000'],
  ['email', 'a@example.com'],
  ['uri', 'http://example.com'],
]);

/** The JSON text of the shortest string that a schema allows, as far as its length and format tell. */
export function smallestString(node: JsonNode, schema: SchemaReader, spend: Spend): string {
  const sample = SAMPLES.get(schema.stringAt(node, 'format') ?? '');
  if (sample !== undefined) return JSON.stringify(sample);
  const length = Math.max(0, Math.ceil(schema.numberAt(node, 'minLength') ?? 0));
  spend(length);
  return JSON.stringify('a'.repeat(length));
}

/** The JSON text of a small number within the bounds of a schema; 0 where they leave none that can be written. */
export function smallestNumber(node: JsonNode, type: 'integer' | 'number', schema: SchemaReader): string {
  const least = schema.numberAt(node, 'minimum') ?? nextAbove(schema.numberAt(node, 'exclusiveMinimum'));
  const most = schema.numberAt(node, 'maximum') ?? schema.numberAt(node, 'exclusiveMaximum');
  const number = least ?? (most !== undefined && most <= 0 ? Math.floor(most) - 1 : 0);
  const step = schema.numberAt(node, 'multipleOf') ?? (type === 'integer' ? 1 : undefined);
  const onStep = step === undefined ? number : Math.ceil(number / step) * step;
  return String(Number.isFinite(onStep) ? onStep : 0);
}

function nextAbove(limit: number | undefined): number | undefined {
  return limit === undefined ? undefined : Math.floor(limit) + 1;
}
