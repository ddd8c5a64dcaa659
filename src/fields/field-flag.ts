import type { Flag } from '../flag.ts';
import { writeJson } from '../json/write-json.ts';
import { type Field, flagName, type Shape } from './field.ts';

/** The flag of a field of a body; its help comes from the field. */
export function fieldFlag(name: string, field: Field): Flag {
  return {
    name: flagName(name),
    ...(field.short ? { short: field.short } : {}),
    ...(field.isSecret ? { isSecret: true } : {}),
    takes: flagKind(field),
    ...(field.type === 'boolean' ? { offSummary: `Set ${name} to false` } : { value: placeholder(field) }),
    summary: [field.flagSummary ?? field.summary, ...summaryNotes(field)].join(' '),
    group: field.required ? 'Required' : field.isCommon ? 'Common' : (field.topic ?? 'More'),
    ...(field.default === undefined ? {} : { default: writeJson(field.default) }),
    ...(field.type === 'string' && field.oneOf ? { offers: field.oneOf } : {}),
    ...(field.fill === 'project' ? { completes: 'projects' } : field.fill === 'model' ? { completes: 'models' } : {}),
  };
}

function flagKind(shape: Shape): Flag['takes'] {
  if (shape.type === 'boolean') return 'boolean';
  return shape.type === 'list' && isScalar(shape.of) ? 'values' : 'value';
}

/** True for values that fit one argument; a shape that the interface does not show counts as text. */
export function isScalar({ type }: Shape): boolean {
  return type === 'string' || type === 'integer' || type === 'number' || type === 'json';
}

function placeholder(shape: Shape & { readonly isSecret?: true }): string {
  if (shape.isSecret) return '<random|@file>';
  switch (shape.type) {
    case 'string':
      if (shape.oneOf) return `<${shape.oneOf.join('|')}>`;
      if (shape.format === 'date-time') return '<time>';
      if (shape.format === 'uuid') return '<uuid>';
      if (shape.format === 'project-id') return '<entity/project>';
      return shape.format ? '<ref>' : '<text>';
    case 'integer':
      return '<n>';
    case 'number':
      return '<x>';
    case 'list':
      return isScalar(shape.of) ? placeholder(shape.of) : '<json>';
    case 'json':
      return '<text>';
    default:
      return '<json>';
  }
}

function summaryNotes(field: Field): string[] {
  const notes: string[] = [];
  if ('min' in field && field.min !== undefined && field.max !== undefined) notes.push(`${field.min} to ${field.max}`);
  if (field.default !== undefined && field.type !== 'list') notes.push(`default: ${writeJson(field.default)}`);
  if (field.deprecated) notes.push(`deprecated: use --${flagName(field.deprecated)}`);
  return notes.length > 0 ? [`(${notes.join('; ')})`] : [];
}
