import { basename } from 'node:path';
import type { JsonValue } from '../json/write-json.ts';
import type { CallAttributes } from './call-attributes.ts';

/** The record of a command: the `start` of the `call start` request. */
export type TracedCall = {
  readonly project_id: string | undefined;
  readonly id: string;
  readonly trace_id: string;
  readonly parent_id: string | undefined;
  readonly op_name: string;
  readonly started_at: string;
  readonly inputs: { readonly [name: string]: JsonValue };
  readonly attributes: CallAttributes;
};

// docs/servers.md, "call start".
const MAX_OP_NAME_CHARS = 128;

/** The operation name of a command: that of `--op-name`, else the last part of the program's path. */
export function operationName(requested: string | undefined, program: string): string {
  return (requested ?? [...basename(program)].slice(0, MAX_OP_NAME_CHARS).join('')) || 'command';
}

/** The recorded inputs of a command without secrets: nothing, all arguments, or (`name`, the default) the base name. */
export function recordedInputs(how: string | undefined, words: readonly string[]): TracedCall['inputs'] {
  if (how === 'none') return {};
  return { command: how === 'argv' ? words : words.slice(0, 1).map((program) => basename(program)) };
}
