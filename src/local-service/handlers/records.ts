import { uuidV7 } from '../../fields/uuid.ts';
import { firstStringMember, getMember, type JsonNode, rawText } from '../../json/json-node.ts';
import { RawJson } from '../../json/write-json.ts';
import { jsonResponse } from '../responses.ts';
import type { Caller, ServiceContext } from '../service-context.ts';
import { callFacts, feedbackFacts } from '../store/record-facts.ts';

/** Stores the start of a call under its id, or a new UUIDv7. The same id sent again merges into one call. */
export async function handleCallStart(body: JsonNode, { signal }: Caller, { store, now, randomBytes }: ServiceContext) {
  const start = getMember(body, 'start') ?? body;
  const traceId = firstStringMember(start, 'trace_id');
  const createdAt = now();
  const id = firstStringMember(start, 'id') ?? uuidV7(createdAt, randomBytes(10));
  const row = {
    ...{ project_id: firstStringMember(start, 'project_id') ?? '', id },
    trace_id: traceId ?? uuidV7(createdAt, randomBytes(10)),
    ...{ start: rawText(start), created_at: createdAt, ...callFacts(start, id, createdAt) },
  };
  const stored = await store.saveCall({ row, hasTraceId: traceId !== undefined }, signal);
  return jsonResponse(200, { id: row.id, trace_id: stored });
}

/**
 * Removes the row of the project whose id is `feedback_id` and stores the new one, in one transaction. The new row has
 * the id the client gave, else a UUIDv7; a stored row with that id is replaced too.
 */
export async function handleFeedbackReplace(
  body: JsonNode,
  { user, signal }: Caller,
  { store, now, randomBytes }: ServiceContext,
) {
  const textOf = (name: string): string => firstStringMember(body, name) ?? '';
  const createdAt = now();
  const payloadNode = getMember(body, 'payload') ?? body;
  const payload = rawText(payloadNode);
  const row = {
    project_id: textOf('project_id'),
    id: firstStringMember(body, 'id') ?? uuidV7(createdAt, randomBytes(10)),
    feedback_type: textOf('feedback_type'),
    trigger_ref: firstStringMember(body, 'trigger_ref') ?? null,
    // An index of PostgreSQL holds no longer ones.
    svc_ref: textOf('svc_ref').slice(0, 600),
    ...{ payload, record: rawText(body), svc_user_id: user, created_at: createdAt },
    ...feedbackFacts(payloadNode),
  };
  await store.replaceFeedback({ row, replacedId: textOf('feedback_id') }, signal);
  const created = new Date(createdAt).toISOString();
  return jsonResponse(200, { id: row.id, created_at: created, svc_user_id: user, payload: new RawJson(payload) });
}
