import { Buffer } from 'node:buffer';
import { type CallSettings, resolveCallSettings } from '../../client/call-settings.ts';
import { sendBody } from '../../client/send-body.ts';
import type { Context } from '../../context.ts';
import { uuidV5 } from '../../fields/uuid.ts';
import type { FlagValues } from '../../flag.ts';
import { type JsonValue, writeJson } from '../../json/write-json.ts';
import { feedbackReplaceOperation } from '../../operations/feedback-replace.ts';
import type { TracedCall } from '../../trace/call-record.ts';

/** The feedback that records how a traced command ended. */
export interface ExitFeedback {
  readonly type: string;
  readonly record: TracedCall;
  readonly payload: JsonValue;
}

// The namespace of the ids below; a random UUID that never changes.
const EXIT_FEEDBACK_NAMESPACE = '0b1f8a52-6d0c-4f3e-9a75-31d7b1b6c9e4';

/** Replaces the feedback of a call about its exit. Its id is derived from the call, so a retry is safe. Throws the Failure otherwise. */
export async function sendExitFeedback(
  { type, record, payload }: ExitFeedback,
  { options }: CallSettings,
  flags: FlagValues,
  context: Context,
  signal: AbortSignal,
): Promise<void> {
  const id = uuidV5(EXIT_FEEDBACK_NAMESPACE, `${record.trace.callId}/${type}`);
  const body = Buffer.from(
    writeJson({
      project_id: record.projectId ?? '',
      feedback_id: id,
      id,
      feedback_type: type,
      svc_ref: `svc:///${record.projectId}/call/${record.trace.callId}`,
      payload,
    }),
  );
  const settings = await resolveCallSettings(feedbackReplaceOperation, flags, context);
  await sendBody(feedbackReplaceOperation, body, { ...settings, options }, context, signal);
}
