import type { Field, Fields, Shape } from '../fields/field.ts';
import { formats } from '../fields/formats.ts';
import { writeJson } from '../json/write.ts';
import { table } from './markdown.ts';

/** The members of a record and of all records in it, as a Markdown table. */
export function fieldTable(fields: Fields): string {
  return table(['member', 'type', 'notes'], rowsOf(fields, ''));
}

function rowsOf(fields: Fields, prefix: string): string[][] {
  return Object.entries(fields).flatMap(([name, field]) => [
    [`\`${prefix}${name}\``, typeOf(field), notesOn(field)],
    ...innerRows(field, `${prefix}${name}`),
  ]);
}

function innerRows(shape: Shape, name: string): string[][] {
  if (shape.type === 'list') return innerRows(shape.of, `${name}[]`);
  return shape.type === 'object' && shape.fields ? rowsOf(shape.fields, `${name}.`) : [];
}

function typeOf(shape: Shape): string {
  const name = typeName(shape);
  return shape.nullable ? `${name} or null` : name;
}

function typeName(shape: Shape): string {
  if (shape.type === 'list') return shape.of.type === 'json' ? 'list' : `list of ${typeOf(shape.of)}`;
  if (shape.type === 'either') return shape.of.map(typeOf).join(' or ');
  return shape.type === 'json' ? 'any JSON' : shape.type;
}

function notesOn(field: Field): string {
  const { summary, required, deprecated, filledByService, advice = {} } = field;
  return [
    required ? '**Required.**' : advice.required ? '**Required by most servers.**' : '',
    `${summary}.`,
    field.type === 'string' && field.oneOf ? `One of ${field.oneOf.map((value) => `\`${value}\``).join(', ')}.` : '',
    field.type === 'string' && field.format ? `${sentence(formats[field.format].shape)}.` : '',
    'min' in field && field.min !== undefined ? `From ${field.min} to ${field.max}.` : '',
    field.default === undefined ? '' : `Default \`${writeJson(field.default)}\`.`,
    deprecated ? `Deprecated: ${deprecated}.` : '',
    filledByService ? 'Read-only.' : '',
    field.fill ? `${fills[field.fill]}.` : '',
  ]
    .filter((note) => note !== '')
    .join(' ');
}

const fills = {
  uuid: 'Made here if absent, unless `--exact`',
  now: 'The time now if absent, unless `--exact`',
  empty: '`{}` if absent, unless `--exact`',
  project: 'From `SVC_PROJECT_ID` or the profile if absent, unless `--exact`',
  model: 'From `SVC_MODEL` or the profile if absent, unless `--exact`',
} as const;

function sentence(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
