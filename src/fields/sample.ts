import type { JsonValue } from '../json/write-json.ts';
import type { Field, Fields, Shape } from './field.ts';
import { stringFormats } from './string-formats.ts';

/** The smallest object without errors and warnings: the fields that the interface or most servers require, with samples. */
export function minimalBody(fields: Fields): { readonly [name: string]: JsonValue } {
  const required = Object.entries(fields).filter(([, field]) => field.required || field.advice?.required);
  return Object.fromEntries(required.map(([name, field]) => [name, minimalValue(field)]));
}

function minimalValue(field: Field): JsonValue {
  if (field.sample === undefined && field.type === 'object' && field.fields) return minimalBody(field.fields);
  return sampleValue(field);
}

/** An object with every field that a client may set, required ones first. */
export function bodySkeleton(fields: Fields): { readonly [name: string]: JsonValue } {
  const settable = Object.entries(fields).filter(([, field]) => !field.isReadOnly);
  const ordered = [
    ...settable.filter(([, { required }]) => required),
    ...settable.filter(([, { required }]) => !required),
  ];
  return Object.fromEntries(ordered.map(([name, field]) => [name, sampleValue(field)]));
}

/** A valid value of the field: its sample, its default, or one generated from its shape. */
export function sampleValue(field: Field | Shape): JsonValue {
  if ('sample' in field && field.sample !== undefined) return field.sample;
  if ('default' in field && field.default !== undefined) return field.default;
  switch (field.type) {
    case 'string':
      return field.oneOf?.[0] ?? (field.format ? stringFormats[field.format].sample : 'text');
    case 'number':
      return 0.5;
    case 'integer':
      return field.min ?? 1;
    case 'boolean':
      return true;
    case 'list':
      return [sampleValue(field.of)];
    case 'object':
      return field.fields ? bodySkeleton(field.fields) : {};
    case 'either':
      return sampleValue(field.of[0] ?? { type: 'json' });
    case 'json':
      return null;
  }
}
