import type { Json } from '../json/write.ts';
import type { Field, Fields, Shape } from './field.ts';
import { formats } from './formats.ts';

/** An object with every member a client may set, required ones first: a body to fill in. */
export function skeleton(fields: Fields): { readonly [name: string]: Json } {
  const settable = Object.entries(fields).filter(([, field]) => !field.filledByService);
  const ordered = [
    ...settable.filter(([, { required }]) => required),
    ...settable.filter(([, { required }]) => !required),
  ];
  return Object.fromEntries(ordered.map(([name, field]) => [name, sampleOf(field)]));
}

/** A value the field takes: its own sample, else its default, else one made from its shape. */
export function sampleOf(field: Field | Shape): Json {
  if ('sample' in field && field.sample !== undefined) return field.sample;
  if ('default' in field && field.default !== undefined) return field.default;
  switch (field.type) {
    case 'string':
      return field.oneOf?.[0] ?? (field.format ? formats[field.format].sample : 'text');
    case 'number':
      return 0.5;
    case 'integer':
      return field.min ?? 1;
    case 'boolean':
      return true;
    case 'list':
      return [sampleOf(field.of)];
    case 'object':
      return field.fields ? skeleton(field.fields) : {};
    case 'either':
      return sampleOf(field.of[0] ?? { type: 'json' });
    case 'json':
      return null;
  }
}
