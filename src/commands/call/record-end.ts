import { constants, open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { sendJson } from '../../client/send.ts';
import { resolveSettings, type Settings } from '../../client/settings.ts';
import type { ProcessEnd } from '../../command.ts';
import type { Context } from '../../context.ts';
import { Failure } from '../../errors.ts';
import { uuidV5 } from '../../fields/uuid.ts';
import { describeFileError } from '../../files/file-errors.ts';
import { getStringFlag } from '../../flag.ts';
import { writeJson } from '../../json/write-json.ts';
import { feedbackReplaceOperation } from '../../operations/feedback-replace.ts';
import type { TracedCall } from '../../trace/call-record.ts';
import { toRecordFailure } from './record-call.ts';
import type { TracedCommand } from './traced-command.ts';

/** The end of a traced command. */
export interface CallEnd {
  readonly end: ProcessEnd;
  /** Milliseconds since 1970. */
  readonly endedAtMs: number;
  /** The service confirmed the record. */
  readonly isSent: boolean;
}

// The namespace of the ids of the feedback; a random UUID that never changes.
const EXIT_FEEDBACK_NAMESPACE = '0b1f8a52-6d0c-4f3e-9a75-31d7b1b6c9e4';

// The end of a command does not wait for the reader of a FIFO.
const LOG_OPEN_FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | (constants.O_NONBLOCK ?? 0);

/**
 * Appends a JSON line about a traced command to a file (mode 0600 if new) and never waits. Throws Failure `local_file`, with the
 * reason alone as its message, if it cannot be written.
 */
export async function appendCallLog(
  path: string,
  { trace_id, id, parent_id, op_name, started_at }: TracedCall,
  { end, endedAtMs, isSent }: CallEnd,
  cwd: string,
): Promise<void> {
  const ended_at = new Date(endedAtMs).toISOString();
  const line = { trace_id, id, parent_id, op_name, started_at, ended_at, ...exitOf(end), sent: isSent };
  try {
    const file = await open(resolve(cwd, path), LOG_OPEN_FLAGS, 0o600);
    await file.appendFile(`${writeJson(line)}\n`).finally(() => file.close());
  } catch (error) {
    throw new Failure('local_file', describeFileError(error));
  }
}

/**
 * Replaces the feedback of a call about its exit. Its id is derived from the call, so a retry is safe. Returns the warnings
 * of the response, and throws the Failure of feedback that was not confirmed.
 */
export async function sendExitFeedback(
  { program, record, flags }: TracedCommand & { readonly settings: Settings },
  { end, endedAtMs }: CallEnd,
  context: Context,
): Promise<readonly string[]> {
  const { project_id = '', id: callId, started_at } = record;
  const type = getStringFlag(flags, 'exit-feedback') ?? 'exit';
  const id = uuidV5(EXIT_FEEDBACK_NAMESPACE, `${callId}/${type}`);
  const command = context.report.redact(program);
  const payload = { command, ...exitOf(end), duration_ms: endedAtMs - Date.parse(started_at) };
  const svc_ref = `svc:///${project_id}/call/${callId}`;
  const body = { project_id, feedback_id: id, id, feedback_type: type, svc_ref, payload };
  // The call before it reported the same.
  const report = { ...context.report, note: async () => {} };
  const settings = await resolveSettings(feedbackReplaceOperation, flags, { ...context, report });
  const { warnings } = await sendJson(writeJson(body), settings, context).catch((error: unknown) => {
    throw toRecordFailure(error, flags);
  });
  return warnings;
}

function exitOf(end: ProcessEnd): { exit_code: number | null; signal: string | null } {
  return typeof end === 'number' ? { exit_code: end, signal: null } : { exit_code: null, signal: end.signal };
}
