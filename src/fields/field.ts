import type { Flag } from '../flag.ts';
import { type JsonValue, writeJson } from '../json/write-json.ts';
import { type StringFormat, stringFormats } from './string-formats.ts';

/** The type of a value: seven kinds, and `either` for the few fields with several. */
export type Shape = {
  readonly nullable?: true;
  /** The JSON that a text or a number in its place likely means; `<text>` stands for it. */
  readonly meant?: string;
} & (
  | { readonly type: 'string'; readonly format?: StringFormat; readonly oneOf?: readonly string[] }
  | { readonly type: 'number' | 'integer'; readonly min?: number | bigint; readonly max?: number | bigint }
  | { readonly type: 'boolean' }
  | { readonly type: 'list'; readonly of: Shape }
  | {
      readonly type: 'object';
      readonly fields?: Fields;
      readonly hasOpenFields?: true;
      /** Fields that existing servers accept, and the interface does not list (docs/internals/servers.md). */
      readonly accepted?: AcceptedFields;
      /** Fields of other APIs, which no server reads, and what to write instead. */
      readonly foreign?: { readonly [name: string]: string };
      /** Null in an optional field passes without a warning: clients write every field that they know. */
      readonly takesNull?: true;
      readonly values?: Shape;
    }
  | { readonly type: 'either'; readonly of: readonly Shape[] }
  | { readonly type: 'json' }
);

/**
 * Values that real servers reject although the interface allows them (docs/internals/servers.md): the client warns and sends, the local
 * service rejects. Values that violate `wants` or `keeps` are accepted by all servers, but the record loses value.
 */
export interface Advice {
  readonly required?: true;
  readonly min?: number | bigint;
  readonly max?: number | bigint;
  readonly above?: number;
  readonly format?: StringFormat;
  readonly bytes?: number;
  readonly isNonEmpty?: true;
  /** Neither the string nor a string in the array may be empty. */
  readonly hasText?: true;
  readonly oneOf?: readonly string[];
  /** A sibling that must be present and neither false nor null. */
  readonly needs?: string;
  /** A sibling without which the record is of little use, and the reason. */
  readonly wants?: { readonly member: string; readonly otherwise: string };
  /** The length in bytes above which the service silently stores a replacement. */
  readonly keeps?: number;
  /** Siblings that must be absent, false or null. */
  readonly conflicts?: readonly string[];
  /** Siblings that must not be smaller. */
  readonly atMost?: readonly string[];
  /** A sibling with a time, which must be earlier than this one. */
  readonly after?: string;
}

export type AcceptedFields = { readonly [name: string]: Advice };

/** Accepted fields without advice, from their names separated by spaces. */
export function acceptedFields(names: string): AcceptedFields {
  return Object.fromEntries(Array.from(names.match(/\w+/g) ?? [], (name) => [name, {}]));
}

/** The value that svc adds for a field that the user left out; never under `--exact`. */
export type AutofillKind = 'call-id' | 'trace-id' | 'parent-id' | 'now' | 'empty' | 'project' | 'model';

/**
 * How the chunks of a streamed response are merged: the first or the last value that is not null, arrays appended, strings
 * concatenated (`concatenate-or-empty`: an empty string if all are null), objects field by field, elements by `index`, or
 * always the default.
 */
type MergeRule =
  | 'first'
  | 'last'
  | 'append'
  | 'concatenate'
  | 'concatenate-or-empty'
  | 'merge'
  | 'by-index'
  | 'default';

/** One field of a body or response. Flags, help, checks, schemas, completion and the local service derive from it. */
export type Field = Shape & {
  readonly summary: string;
  /** What stands in for a missing value, in words: `now`. */
  readonly defaultsTo?: string;
  /** The summary of its flag, if that accepts other forms or names other flags. */
  readonly flagSummary?: string;
  readonly required?: true;
  /** The value that the service assumes for an absent field; shown, never sent. */
  readonly default?: JsonValue;
  readonly deprecated?: string;
  readonly short?: string;
  readonly isCommon?: true;
  /** The heading in help that lists its flag, unless it is required or common. */
  readonly topic?: string;
  /** Only the service sets it: it has no flag, and a value from a client is an error. */
  readonly isReadOnly?: true;
  /** Never shown, and never accepted as an argument. */
  readonly isSecret?: true;
  /** A boolean sibling that must not be true together with this one. */
  readonly excludes?: string;
  /** Forms that most servers accept beyond the interface (docs/internals/servers.md): svc warns, unless they are usual, and sends them. */
  readonly wider?: readonly (Shape & { readonly isUsual?: true })[];
  readonly advice?: Advice;
  readonly fill?: AutofillKind;
  /** Not filled in if this sibling is present and not null. */
  readonly fillUnless?: string;
  /** Its flag also accepts an age instead of a time: `7d` is seven days ago. */
  readonly acceptsAge?: true;
  readonly sample?: JsonValue;
  readonly join?: MergeRule;
  /** Other names on some servers; if both exist, they hold the same value. */
  readonly aliases?: readonly string[];
  /** Its name in the chunks of a streamed response. */
  readonly streamedAs?: string;
};

export type Fields = { readonly [name: string]: Field };

type Details<T extends Shape['type']> = Omit<FieldOf<T, Field>, 'type' | 'of' | 'summary' | 'topic'>;

type FieldOf<T, F> = F extends { readonly type: infer U } ? (T extends U ? F : never) : never;

type CreateField<T extends Shape['type']> = (summary: string, details?: Details<T>) => Field;

/** Functions that create fields with some properties in common: `integer('Random seed', { sample: 7 })`. */
export function fieldsOf(common: Partial<Pick<Field, 'topic' | 'nullable' | 'required'>> = {}) {
  const string: CreateField<'string'> = (summary, details) => ({ type: 'string', summary, ...common, ...details });
  const number: CreateField<'number'> = (summary, details) => ({ type: 'number', summary, ...common, ...details });
  const integer: CreateField<'integer'> = (summary, details) => ({ type: 'integer', summary, ...common, ...details });
  const boolean: CreateField<'boolean'> = (summary, details) => ({ type: 'boolean', summary, ...common, ...details });
  const object: CreateField<'object'> = (summary, details) => ({ type: 'object', summary, ...common, ...details });
  const json: CreateField<'json'> = (summary, details) => ({ type: 'json', summary, ...common, ...details });
  const list = (summary: string, of: Shape, details?: Details<'list'>): Field => {
    return { type: 'list', of, summary, ...common, ...details };
  };
  return { string, number, integer, boolean, object, json, list };
}

export const dateTime = {
  format: 'date-time',
  wider: [{ type: 'string', format: 'lax-date-time' }],
} as const satisfies Details<'string'>;

/** The flag of a field: `top_logprobs` is `--top-logprobs`. */
export function flagName(fieldName: string): string {
  return fieldName.replace(/^_+/, '').replaceAll('_', '-');
}

export function fieldFlag(name: string, field: Field): Flag {
  return {
    name: flagName(name),
    ...(field.short ? { short: field.short } : {}),
    ...(field.isSecret ? { isSecret: true } : {}),
    takes: field.type === 'boolean' ? 'boolean' : field.type === 'list' && isScalar(field.of) ? 'values' : 'value',
    ...(field.type === 'boolean' ? { offSummary: `Set ${name} to false` } : { value: shortPlaceholder(name, field) }),
    summary: field.deprecated
      ? `Deprecated: use --${flagName(field.deprecated)}`
      : (field.flagSummary ?? field.summary) + summaryNotes(name, field),
    group: field.required ? 'Required' : field.isCommon ? 'Common' : (field.topic ?? 'More'),
    ...(defaultText(field) === undefined ? {} : { default: defaultText(field) ?? '' }),
    ...(field.type === 'string' && field.oneOf ? { offers: field.oneOf } : {}),
    ...(field.fill === 'project' ? { completes: 'projects' } : field.fill === 'model' ? { completes: 'models' } : {}),
  };
}

/** True for values that fit one argument; a shape that the interface does not show counts as text. */
export function isScalar({ type }: Shape): boolean {
  return type === 'string' || type === 'integer' || type === 'number' || type === 'json';
}

function placeholder(shape: Shape & { readonly isSecret?: true }): string {
  if (shape.isSecret) return '<random|@file>';
  if (shape.type === 'list' && isScalar(shape.of)) return placeholder(shape.of);
  if (shape.type !== 'string') return { integer: '<n>', number: '<x>', json: '<text>' }[String(shape.type)] ?? '<json>';
  if (shape.oneOf) return `<${shape.oneOf.join('|')}>`;
  const ofFormat: { readonly [format: string]: string } = {
    'date-time': '<time>',
    uuid: '<uuid>',
    'project-id': '<entity/project>',
  };
  return shape.format ? (ofFormat[shape.format] ?? '<ref>') : '<text>';
}

// With `  --` and a space, a flag and its placeholder fit into the 40 columns of a narrow terminal.
const MAX_FLAG_COLUMNS = 35;

/** A choice that is too long for one line ends with `…`; the summary then has all values. */
function shortPlaceholder(name: string, field: Field): string {
  const whole = placeholder(field);
  const room = MAX_FLAG_COLUMNS - name.length - (field.short ? '-x, '.length : 0);
  if (whole.length <= room || !whole.includes('|')) return whole;
  const end = whole.lastIndexOf('|', room - 3);
  return end < 0 ? '<value>' : `${whole.slice(0, end)}|…>`;
}

function defaultText(field: Field): string | undefined {
  return field.default === undefined ? field.defaultsTo : writeJson(field.default);
}

function summaryNotes(name: string, field: Field): string {
  const notes: string[] = [];
  const choices = placeholder(field);
  if (choices !== shortPlaceholder(name, field)) notes.push(choices.slice(1, -1).replaceAll('|', ', '));
  const { min, max } = shownBounds(field);
  if (min !== undefined && max !== undefined) notes.push(`${min} to ${max}`);
  const text = defaultText(field);
  if (text !== undefined && field.type !== 'list') notes.push(`default: ${text}`);
  return notes.length > 0 ? ` (${notes.join('; ')})` : '';
}

/** The bounds of a number as people read them: those that servers enforce, where the interface rounds them to doubles. */
export function shownBounds(shape: Shape & Pick<Field, 'advice'>) {
  if (shape.type !== 'number' && shape.type !== 'integer') return { min: undefined, max: undefined };
  const { min, max, advice } = shape;
  return { min: min === undefined ? min : (advice?.min ?? min), max: max === undefined ? max : (advice?.max ?? max) };
}

/** The smallest object without errors and warnings: the fields that the interface or most servers require, with samples. */
export function minimalBody(fields: Fields): { readonly [name: string]: JsonValue } {
  const required = Object.entries(fields).filter(([, field]) => field.required || field.advice?.required);
  return Object.fromEntries(required.map(([name, field]) => [name, minimalValue(field)]));
}

export function minimalValue(field: Field | Shape): JsonValue {
  const hasSample = 'sample' in field && field.sample !== undefined;
  return !hasSample && field.type === 'object' && field.fields ? minimalBody(field.fields) : sampleValue(field);
}

export function bodySkeleton(fields: Fields): { readonly [name: string]: JsonValue } {
  const settable = Object.entries(fields).filter(([, field]) => !field.isReadOnly);
  const ordered = settable.toSorted(([, left], [, right]) => Number(right.required ?? 0) - Number(left.required ?? 0));
  return Object.fromEntries(ordered.map(([name, field]) => [name, sampleValue(field)]));
}

/** A valid value of the field: its sample, its default, or one generated from its shape. */
export function sampleValue(field: Field | Shape): JsonValue {
  if ('sample' in field && field.sample !== undefined) return field.sample;
  if ('default' in field && field.default !== undefined) return field.default;
  if (field.type === 'list') return [sampleValue(field.of)];
  if (field.type === 'either') return sampleValue(field.of[0] ?? { type: 'json' });
  if (field.type === 'object') return field.fields ? bodySkeleton(field.fields) : {};
  if (field.type === 'string') return field.oneOf?.[0] ?? (field.format ? stringFormats[field.format].sample : 'text');
  if (field.type === 'integer') return field.min ?? 1;
  return { number: 0.5, boolean: true, json: null }[field.type];
}
