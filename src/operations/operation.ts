import type { Effect } from '../errors.ts';
import type { Fields } from '../fields/field.ts';
import type { BodyRequirements } from '../fields/finding.ts';
import type { JsonPath } from '../json/json-node.ts';

export interface Operation extends BodyRequirements {
  readonly command: readonly string[];
  readonly summary: string;
  readonly about?: string;
  /** Relative to the base URL; the method is always POST. */
  readonly path: `/${string}`;
  readonly auth: 'basic' | 'bearer';
  readonly host: 'trace' | 'chat' | 'train';
  readonly maxBodyBytes: number;
  /** The shape in which servers report errors: `{"detail":...}`, with 422 for bodies, or `{"error":{...}}`, with 400 (docs/internals/servers.md). */
  readonly errors: 'detail' | 'error';
  readonly effect: Effect;
  /** Without these of its `ids`, a `keyed` operation counts as `once`. */
  readonly key?: readonly string[];
  /**
   * The id, of its `ids`, of the record that the request replaces. A server deletes it before its last checks (docs/internals/servers.md),
   * so a 400, a 5xx or a lost response may have cost it. Only with this id as its key is the request `keyed`.
   */
  readonly replaces?: string;
  /** Paths of the ids in the body that identify the record later, by kind of id. */
  readonly ids?: { readonly [what: string]: JsonPath };
  readonly flagsFrom?: string;
  /** Servers reject unknown fields of the body (docs/internals/servers.md); those of other operations ignore them. */
  readonly rejectsUnknownFields?: true;
  readonly reply: Fields;
  /** The field that a valid response must have, and the kind of result it is printed as. */
  readonly result: { readonly member: string; readonly as: 'record' | 'rows' | 'chat' };
  /** Missing ids come from the trace in the environment; `--export` prints them for child processes. */
  readonly continuesTrace?: true;
  readonly canStream?: true;
  /** The default time limit of the whole exchange; none if absent. */
  readonly timeoutSeconds?: number;
  readonly isPreview?: true;
  /** The meaning of the command's arguments: words of a prompt, or files with the elements of a field. */
  readonly arguments?: {
    readonly name: string;
    readonly summary: string;
    readonly as: 'prompt' | { readonly filesOf: string };
  };
  readonly shorthands?: { readonly [flag: string]: Shorthand };
  readonly keyFlags: readonly string[];
  /** The first one runs as typed, on the local service; the second one is for a real service. */
  readonly examples: readonly Example[];
}

/** True for an operation that changes nothing that the service stores, although it can cost money. */
export function changesNothing({ effect }: Pick<Operation, 'effect'>): boolean {
  return effect === 'read' || effect === 'paid';
}

export const BYTES_PER_MEBIBYTE = 1024 * 1024;

export const traceService = {
  auth: 'basic',
  host: 'trace',
  maxBodyBytes: 32 * BYTES_PER_MEBIBYTE,
  errors: 'detail',
  timeoutSeconds: 120,
} as const;

/** A valid command line without the leading `svc`; `stdin`, or what the command `from` prints, is piped into it. */
export interface Example {
  readonly why: string;
  readonly args: string;
  readonly stdin?: string;
  readonly from?: string;
}

/** A flag that is shorter than the fields it sets. src/body/flag-edits.ts applies each kind. */
export type Shorthand = {
  readonly summary: string;
  readonly short?: string;
  readonly isCommon?: true;
  readonly conflicts?: readonly string[];
  readonly sets?: readonly string[];
} & (
  | { readonly kind: 'message'; readonly role: 'system' | 'developer' }
  | { readonly kind: 'role-message' | 'prefill' | 'conversation' | 'reply-schema' | 'attach' }
  | { readonly kind: 'age'; readonly sets: readonly [string] }
  | { readonly kind: 'copy'; readonly from: string; readonly sets: readonly [string] }
  /** A new UUIDv7 in each of the fields. */
  | { readonly kind: 'new-id'; readonly sets: readonly string[] }
  /** The ref of the call with this id in the project of the body. */
  | { readonly kind: 'call-ref'; readonly sets: readonly [string] }
  /** A part of a field, with the text of others. */
  | {
      readonly kind: 'part';
      readonly part: 'number' | 'string';
      readonly sets: readonly [string];
      readonly implies?: { readonly [field: string]: string };
    }
);

export interface FlagTarget {
  readonly path: JsonPath;
  readonly fields: Fields;
}

/** The body of an operation, or its field `flagsFrom` (`start` of a call). */
export function flagTarget({ body, flagsFrom }: Operation): FlagTarget {
  const inner = flagsFrom === undefined ? undefined : body[flagsFrom];
  if (flagsFrom === undefined || inner?.type !== 'object' || !inner.fields) return { path: [], fields: body };
  return { path: [flagsFrom], fields: inner.fields };
}
