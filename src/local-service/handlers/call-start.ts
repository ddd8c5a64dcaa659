import { uuidV7 } from '../../fields/uuid.ts';
import { firstStringMember, getMember, rawText } from '../../json/json-node.ts';
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
