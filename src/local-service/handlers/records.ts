import { uuidV7 } from '../../fields/uuid.ts';
import { firstStringMember, getMember, rawText } from '../../json/json-node.ts';
import { RawJson } from '../../json/write-json.ts';
import { jsonResponse } from '../responses.ts';
import type { OperationHandler } from '../service-context.ts';

/** Stores the start of a call under its id, or a new UUIDv7. The same id sent again merges into one call. */
export const handleCallStart: OperationHandler = async (body, { signal }, { store, now, randomBytes }) => {
  const start = getMember(body, 'start') ?? body;
  const id = firstStringMember(start, 'id') ?? uuidV7(now(), randomBytes(10));
  const call = {
    project: firstStringMember(start, 'project_id') ?? '',
    id,
    traceId: firstStringMember(start, 'trace_id'),
    newTraceId: uuidV7(now(), randomBytes(10)),
    start: rawText(start),
    createdAt: now(),
  };
  return jsonResponse(200, { id, trace_id: await store.saveCall(call, signal) });
};

/**
 * Removes the row of the project whose id is `feedback_id` and stores the new one, in one transaction. The new row has
 * the id the client gave, else a UUIDv7; a stored row with that id is replaced too.
 */
export const handleFeedbackReplace: OperationHandler = async (body, { user, signal }, { store, now, randomBytes }) => {
  const textOf = (name: string): string => firstStringMember(body, name) ?? '';
  const createdAt = now();
  const id = firstStringMember(body, 'id') ?? uuidV7(createdAt, randomBytes(10));
  const payload = rawText(getMember(body, 'payload') ?? body);
  const feedback = {
    ...{ id, payload, user, createdAt, record: rawText(body) },
    project: textOf('project_id'),
    replacedId: textOf('feedback_id'),
    type: textOf('feedback_type'),
    trigger: firstStringMember(body, 'trigger_ref') ?? null,
    // An index of PostgreSQL holds no longer ones.
    ref: textOf('svc_ref').slice(0, 600),
  };
  await store.replaceFeedback(feedback, signal);
  const created = new Date(createdAt).toISOString();
  return jsonResponse(200, { id, created_at: created, svc_user_id: user, payload: new RawJson(payload) });
};
