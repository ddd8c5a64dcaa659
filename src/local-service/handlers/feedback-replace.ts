import { uuidV7 } from '../../fields/uuid.ts';
import { firstStringMember, getMember, rawText } from '../../json/json-node.ts';
import { RawJson } from '../../json/write-json.ts';
import { jsonResponse } from '../responses.ts';
import type { OperationHandler } from '../service-context.ts';

/**
 * Removes the row of the project whose id is `feedback_id` and stores the new one, in one transaction. The new row has
 * the id the client gave, else a UUIDv7; a stored row with that id is replaced too.
 */
export const handleFeedbackReplace: OperationHandler = async (body, { user, signal }, { store, now, randomBytes }) => {
  const payload = rawText(getMember(body, 'payload') ?? body);
  const id = firstStringMember(body, 'id') ?? uuidV7(now(), randomBytes(10));
  const createdAt = now();
  const record = {
    project: firstStringMember(body, 'project_id') ?? '',
    id,
    replacedId: firstStringMember(body, 'feedback_id') ?? '',
    type: firstStringMember(body, 'feedback_type') ?? '',
    trigger: firstStringMember(body, 'trigger_ref') ?? null,
    payload,
    record: rawText(body),
    user,
    createdAt,
  };
  await store.replaceFeedback(record, signal);
  return jsonResponse(200, {
    id,
    created_at: new Date(createdAt).toISOString(),
    svc_user_id: user,
    payload: new RawJson(payload),
  });
};
