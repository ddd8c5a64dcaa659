import type { Fields } from '../fields/field.ts';
import type { JsonPath } from '../json/json-path.ts';
import type { Shorthands } from './shorthand.ts';

/** One operation of the service. Everything svc does with it is read from this value. */
export interface Operation {
  /** The words of the command: `['feedback', 'schema']`. */
  readonly command: readonly string[];
  readonly summary: string;
  /** What help says below the summary. */
  readonly about?: string;
  /** Relative to the base URL; the method is always POST. */
  readonly path: `/${string}`;
  readonly auth: 'basic' | 'bearer';
  /** Which of the three base URLs it is sent to. */
  readonly host: OperationHost;
  /** The maximum size of a body in bytes (docs/servers.md). */
  readonly largestBody: number;
  /** The shape in which servers report errors: `{"detail":...}`, with 422 for bodies, or `{"error":{...}}`, with 400 (docs/servers.md). */
  readonly errors: 'detail' | 'error';
  /** What a repeat would do: nothing, nothing while the key is the same, cost money, or make a second one. */
  readonly effect: 'read' | 'keyed' | 'paid' | 'once';
  /** A `keyed` operation is so only while these members (of `flagsFrom`, if set) are there; otherwise it is `once`. */
  readonly key?: readonly string[];
  /** Where in the body the ids stand that tell later whether it was applied, by what they are ids of. */
  readonly ids?: { readonly [what: string]: JsonPath };
  readonly body: Fields;
  /** The member whose own members become the flags. */
  readonly flagsFrom?: string;
  /** Servers reject unknown fields of the body (docs/servers.md); those of other operations ignore them. */
  readonly refusesUnknown?: true;
  readonly reply: Fields;
  /** The member of the reply without which it is no answer, and how it is shown on a terminal. */
  readonly result: { readonly member: string; readonly as: 'record' | 'rows' | 'chat' };
  /** Ids that its body lacks continue the trace of the environment; `--export` prints them for child processes. */
  readonly continuesTrace?: true;
  /** The answer can be a stream of events. */
  readonly streams?: true;
  /** Seconds for the whole exchange unless the user sets another limit; none without it. */
  readonly limit?: number;
  readonly preview?: true;
  /** The command's arguments are this: words of a prompt, or files of a member. */
  readonly arguments?: {
    readonly name: string;
    readonly summary: string;
    readonly as: 'prompt' | { readonly filesOf: string };
  };
  readonly shorthands?: Shorthands;
  readonly examples: readonly Example[];
}

/** For `largestBody`. */
export const BYTES_PER_MEBIBYTE = 1024 * 1024;

export type OperationHost = 'trace' | 'chat' | 'train';

/** A command line that works, without the leading `svc`; `stdin` is what is piped into it. */
export interface Example {
  readonly why: string;
  readonly args: string;
  readonly stdin?: string;
}
