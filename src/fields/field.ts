import type { JsonValue } from '../json/write-json.ts';
import type { StringFormat } from './string-formats.ts';

/** What a value may be. Seven kinds, and `either` for the few that may be one of several. */
export type Shape = { readonly nullable?: true } & (
  | { readonly type: 'string'; readonly format?: StringFormat; readonly oneOf?: readonly string[] }
  | { readonly type: 'number' | 'integer'; readonly min?: number | bigint; readonly max?: number | bigint }
  | { readonly type: 'boolean' }
  | { readonly type: 'list'; readonly of: Shape }
  | {
      readonly type: 'object';
      /** The members we know; without them the object is free-form. */
      readonly fields?: Fields;
      /** Members beyond `fields` are no news: they pass without a warning. */
      readonly open?: true;
      /** What every member of a free-form object may be. */
      readonly values?: Shape;
    }
  | { readonly type: 'either'; readonly of: readonly Shape[] }
  | { readonly type: 'json' }
);

export type ShapeKind = Shape['type'];

/**
 * What real servers refuse although the interface does not say so (SERVERS.md): the client warns and sends, the local
 * service refuses. What stands under `wants` and `keeps` they accept and regret, so the local service accepts it too.
 */
export interface Advice {
  readonly required?: true;
  readonly min?: number | bigint;
  readonly max?: number | bigint;
  /** Greater than this, not equal to it. */
  readonly above?: number;
  readonly format?: StringFormat;
  /** The most bytes the value's JSON text may have. */
  readonly bytes?: number;
  readonly notEmpty?: true;
  /** A sibling that must be there, and not be false or null. */
  readonly needs?: string;
  /** A sibling without which the record is of little use, and why. */
  readonly wants?: { readonly member: string; readonly why: string };
  /** Beyond so many bytes the service silently keeps something else. */
  readonly keeps?: number;
  /** Siblings that must not be there, unless false or null. */
  readonly conflicts?: readonly string[];
  /** Siblings of which none may be smaller. */
  readonly atMost?: readonly string[];
}

/** What svc puts in where the user gave nothing; never under `--exact`. */
export type AutofillKind = 'uuid' | 'now' | 'empty' | 'project' | 'model';

/**
 * How the pieces of a streamed reply become one value: the first or the last that is not null, lists one after the
 * other, texts one after the other, member by member, element by `index`, or always the default.
 */
export type MergeRule = 'first' | 'last' | 'append' | 'concatenate' | 'merge' | 'by-index' | 'default';

/** One member of a body or reply: everything that help, checks, schemas, completions and the service read. */
export type Field = Shape & {
  readonly summary: string;
  readonly required?: true;
  /** What the service takes when the member is absent; shown, never sent. */
  readonly default?: JsonValue;
  /** Why it is deprecated and what to use instead. */
  readonly deprecated?: string;
  /** One letter for its flag. */
  readonly short?: string;
  /** Among the few that most requests use: help lists these first. */
  readonly common?: true;
  /** Only the service sets it: no flag, and a value from a client is an error. */
  readonly filledByService?: true;
  /** Never shown, and never taken as an argument. */
  readonly secret?: true;
  /** A sibling boolean that may not be true together with this one. */
  readonly excludes?: string;
  readonly advice?: Advice;
  readonly fill?: AutofillKind;
  /** The fill is left out when this sibling is there. */
  readonly fillUnless?: string;
  /** As a flag it may be an age instead of a time: `7d` is seven days ago. */
  readonly age?: true;
  /** A value that shows the field at work; without it one is made from the shape. */
  readonly sample?: JsonValue;
  readonly join?: MergeRule;
  /** Other names some servers have for it; where both stand they say the same. */
  readonly aliases?: readonly string[];
  /** What it is called in the pieces of a streamed reply. */
  readonly streamedAs?: string;
};

export type Fields = { readonly [name: string]: Field };

/** The flag of a member: `top_logprobs` is `--top-logprobs`. */
export function flagName(fieldName: string): string {
  return fieldName.replace(/^_+/, '').replaceAll('_', '-');
}
