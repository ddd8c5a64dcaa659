import { Buffer } from 'node:buffer';
import { basename } from 'node:path';
import type { JsonValue } from '../json/write-json.ts';
import { writeJson } from '../json/write-json.ts';
import type { CallAttributes } from './call-attributes.ts';
import type { TraceContext } from './trace-context.ts';

/** How much of a command is recorded: nothing, its name, or its arguments with secrets redacted. */
export type RecordedInputs = 'none' | 'name' | 'argv';

/** What the record of a command says. */
export interface TracedCall {
  readonly projectId: string | undefined;
  readonly trace: TraceContext;
  readonly opName: string;
  readonly startedAt: string;
  readonly inputs: { readonly [name: string]: JsonValue };
  readonly attributes: CallAttributes;
}

// docs/servers.md, "call start".
const MAX_OP_NAME_CHARS = 128;

/** The operation name of a command: that of `--op-name`, else the last part of the program's path. */
export function operationName(requested: string | undefined, program: string): string {
  return (requested ?? [...basename(program)].slice(0, MAX_OP_NAME_CHARS).join('')) || 'command';
}

/** The recorded inputs of a command whose arguments are already redacted. */
export function recordedInputs(how: RecordedInputs, redactedWords: readonly string[]): TracedCall['inputs'] {
  if (how === 'none') return {};
  return { command: how === 'name' ? redactedWords.slice(0, 1) : [...redactedWords] };
}

/** What a spooled call belongs to: origin and path of the trace base URL, or `local`. */
export function traceTarget({ url, isLocal }: { readonly url: URL | undefined; readonly isLocal: boolean }): string {
  return isLocal ? 'local' : (url?.href ?? '').replace(/\/call\/start$/, '');
}

/** The body of the `call start` request that records a command. */
export function callRecordBody({ projectId, trace, opName, startedAt, inputs, attributes }: TracedCall): Buffer {
  return Buffer.from(
    writeJson({
      start: {
        ...(projectId ? { project_id: projectId } : {}),
        id: trace.callId,
        trace_id: trace.traceId,
        ...(trace.parentId ? { parent_id: trace.parentId } : {}),
        op_name: opName,
        started_at: startedAt,
        inputs,
        attributes,
      },
    }),
  );
}
