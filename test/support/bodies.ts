import { bodySkeleton, type Field, type Fields, type Shape, sampleValue } from '../../src/fields/field.ts';
import type { JsonValue } from '../../src/json/write-json.ts';
import { flagTarget, type Operation } from '../../src/operations/operation.ts';

/** A body and what it is a sample of. */
export interface SampleBody {
  readonly name: string;
  readonly body: JsonValue;
}

/** The smallest body, and the same with each other field and the fields that it needs. */
export function sampleBodies(operation: Operation): SampleBody[] {
  const { path, fields } = flagTarget(operation);
  const least = members(fields, (field) => field.required === true || field.advice?.required === true);
  const wrap = (inner: JsonValue): JsonValue =>
    path.reduceRight<JsonValue>((value, step) => ({ [String(step)]: value }), inner);
  const others = Object.entries(fields).filter(([name, field]) => !(name in least) && !field.isReadOnly);
  return [
    { name: 'the least', body: wrap(least) },
    ...others.map(([name, field]) => ({
      name,
      body: wrap({ ...least, [name]: settled(field), ...companions(field, fields) }),
    })),
  ];
}

/** A body with every field that a client may set. */
export function fullBody(operation: Operation): JsonValue {
  return bodySkeleton(operation.body);
}

function members(fields: Fields, wanted: (field: Field) => boolean): { [name: string]: JsonValue } {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, field]) => (wanted(field) ? [[name, sampleValue(field)]] : [])),
  );
}

// Of fields that exclude each other, a sample has one.
function settled(field: Shape): JsonValue {
  const sample = sampleValue(field);
  if (field.type !== 'object' || !field.fields || typeof sample !== 'object' || sample === null) return sample;
  const out = new Set(Object.values(field.fields).flatMap(({ advice }) => advice?.conflicts ?? []));
  return Object.fromEntries(Object.entries(sample).filter(([name]) => !out.has(name)));
}

function companions({ advice, excludes }: Field, fields: Fields): { [name: string]: JsonValue } {
  const needed = [advice?.needs, advice?.wants?.member].flatMap((name) => name ?? []);
  return {
    ...Object.fromEntries(
      needed.map((name) => [
        name,
        fields[name]?.type === 'boolean' ? true : sampleValue(fields[name] ?? { type: 'json' }),
      ]),
    ),
    ...(excludes ? { [excludes]: false } : {}),
  };
}
