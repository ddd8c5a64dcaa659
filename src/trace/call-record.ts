import { basename } from 'node:path';
import type { JsonValue } from '../json/write-json.ts';
import type { CallAttributes } from './call-attributes.ts';
import type { TraceContext } from './trace-context.ts';

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

/** What the record of a command is made from. */
export interface RecordedCommand {
  readonly projectId: string | undefined;
  readonly trace: TraceContext;
  /** The operation name if it is not that of the command. */
  readonly opName: string | undefined;
  readonly startedAtMs: number;
  /** Without secrets. */
  readonly words: readonly string[];
  /** How much of the words is recorded: nothing, the first one, or (`argv`, the default) all. */
  readonly inputs: string | undefined;
  readonly attributes: CallAttributes;
}

// docs/servers.md, "call start".
const MAX_OP_NAME_CHARS = 128;

/** Creates the record of a command. */
export function createCallRecord(command: RecordedCommand): TracedCall {
  const { projectId, trace, opName, startedAtMs, words, inputs, attributes } = command;
  const commandName = [...basename(words[0] ?? '')].slice(0, MAX_OP_NAME_CHARS).join('');
  return {
    project_id: projectId,
    id: trace.callId,
    trace_id: trace.traceId,
    parent_id: trace.parentId,
    op_name: (opName ?? commandName) || 'command',
    started_at: new Date(startedAtMs).toISOString(),
    inputs: inputs === 'none' ? {} : { command: inputs === 'name' ? words.slice(0, 1) : words },
    attributes,
  };
}
