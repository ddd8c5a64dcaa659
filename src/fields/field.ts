import type { JsonValue } from '../json/write-json.ts';
import type { StringFormat } from './string-formats.ts';

/** The type of a value: seven kinds, and `either` for the few fields with several. */
export type Shape = { readonly nullable?: true } & (
  | { readonly type: 'string'; readonly format?: StringFormat; readonly oneOf?: readonly string[] }
  | { readonly type: 'number' | 'integer'; readonly min?: number | bigint; readonly max?: number | bigint }
  | { readonly type: 'boolean' }
  /** `minItems`: of a list in a response; the validator is for bodies only. */
  | { readonly type: 'list'; readonly of: Shape; readonly minItems?: number }
  | {
      readonly type: 'object';
      /** The known fields; without them the object is free-form. */
      readonly fields?: Fields;
      /** Fields beyond `fields` pass without a warning. */
      readonly hasOpenFields?: true;
      /** The type of every field of a free-form object. */
      readonly values?: Shape;
    }
  | { readonly type: 'either'; readonly of: readonly Shape[] }
  | { readonly type: 'json' }
);

/**
 * Values that real servers reject although the interface allows them (docs/servers.md): the client warns and sends, the local
 * service rejects. Values that violate `wants` or `keeps` are accepted by all servers, but the record loses value.
 */
export interface Advice {
  readonly required?: true;
  readonly min?: number | bigint;
  readonly max?: number | bigint;
  /** The value must be greater than this. */
  readonly above?: number;
  readonly format?: StringFormat;
  /** The maximum length of the value's JSON text in bytes. */
  readonly bytes?: number;
  readonly isNonEmpty?: true;
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

/** The value that svc adds for a field that the user left out; never under `--exact`. */
export type AutofillKind = 'call-id' | 'trace-id' | 'parent-id' | 'now' | 'empty' | 'project' | 'model';

/**
 * How the chunks of a streamed response are merged: the first or the last value that is not null, arrays appended, strings
 * concatenated (`concatenate-or-empty`: an empty string if all are null), objects field by field, elements by `index`, or
 * always the default.
 */
export type MergeRule =
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
  /** True of the field in any body. */
  readonly summary: string;
  /** The summary of its flag, if that accepts other forms or names other flags. */
  readonly flagSummary?: string;
  /** The summary for the OpenAPI document, if the other one is about svc. */
  readonly serviceSummary?: string;
  readonly required?: true;
  /** The value that the service assumes for an absent field; shown, never sent. */
  readonly default?: JsonValue;
  /** The field to use instead of a deprecated one. */
  readonly deprecated?: string;
  /** The short flag, one letter. */
  readonly short?: string;
  /** Most requests use it: help lists it first. */
  readonly isCommon?: true;
  /** The heading in help that lists its flag, unless it is required or common. */
  readonly topic?: string;
  /** Only the service sets it: it has no flag, and a value from a client is an error. */
  readonly isReadOnly?: true;
  /** Never shown, and never accepted as an argument. */
  readonly isSecret?: true;
  /** A boolean sibling that must not be true together with this one. */
  readonly excludes?: string;
  /** Forms that most servers accept beyond the interface (docs/servers.md): svc warns and sends them. */
  readonly wider?: readonly Shape[];
  readonly advice?: Advice;
  readonly fill?: AutofillKind;
  /** Not filled in if this sibling is present and not null. */
  readonly fillUnless?: string;
  /** Its flag also accepts an age instead of a time: `7d` is seven days ago. */
  readonly acceptsAge?: true;
  /** A realistic value; otherwise one is generated from the shape. */
  readonly sample?: JsonValue;
  readonly join?: MergeRule;
  /** Other names on some servers; if both exist, they hold the same value. */
  readonly aliases?: readonly string[];
  /** Its name in the chunks of a streamed response. */
  readonly streamedAs?: string;
};

export type Fields = { readonly [name: string]: Field };

/** The flag of a field: `top_logprobs` is `--top-logprobs`. */
export function flagName(fieldName: string): string {
  return fieldName.replace(/^_+/, '').replaceAll('_', '-');
}
