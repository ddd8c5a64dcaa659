import { uuidV7 } from '../../fields/uuid.ts';
import { applySplices, splicesToSetMembers } from '../../json/edit.ts';
import { firstStringMember, getMember, kindOf, membersOf, rawText, rootOf } from '../../json/json-node.ts';
import { parseJson } from '../../json/parse-json.ts';
import { RawJson } from '../../json/write-json.ts';
import { jsonResponse } from '../responses.ts';
import type { OperationHandler } from '../service-context.ts';
import { insertRow, type QuerySequence } from '../store/service-store.ts';

/** Stores the start of a call under its id, or a new UUIDv7. The same id sent again merges into one call. */
export const handleCallStart: OperationHandler = async (body, { signal }, { store, now, randomBytes }) => {
  const start = getMember(body, 'start') ?? body;
  const id = firstStringMember(start, 'id') ?? uuidV7(now(), randomBytes(10));
  const traceId = firstStringMember(start, 'trace_id');
  const call = {
    project_id: firstStringMember(start, 'project_id') ?? '',
    id,
    trace_id: traceId ?? uuidV7(now(), randomBytes(10)),
    start: rawText(start),
    created_at: now(),
  };
  return jsonResponse(200, { id, trace_id: await store.commit(() => saveCall(call, traceId), signal) });
};

// Returns the trace id: that of the body, else that of the stored call with this id, else a new one.
function* saveCall(
  call: { readonly project_id: string; readonly id: string; readonly trace_id: string; readonly start: string },
  traceId: string | undefined,
): QuerySequence<string> {
  const inserted = yield* insertRow('calls', call, 'on conflict (project_id, id) do nothing returning id');
  if (inserted.length > 0) return call.trace_id;
  const key = [call.project_id, call.id];
  // An update locks the row in both databases.
  const [stored] = yield {
    sql: 'update @calls set seq = seq where project_id = ? and id = ? returning trace_id, start',
    values: key,
  };
  const merged = [traceId ?? String(stored?.trace_id), mergeCallStart(String(stored?.start), call.start)] as const;
  yield {
    sql: 'update @calls set trace_id = ?, start = ? where project_id = ? and id = ?',
    values: [...merged, ...key],
  };
  return merged[0];
}

// The stored start of a call with the members of a later one set. Null members count as absent (docs/servers.md).
function mergeCallStart(stored: string, later: string): string {
  const doc = parseJson(stored);
  const updates = new Map(
    Array.from(membersOf(rootOf(parseJson(later))))
      .filter(({ value }) => kindOf(value) !== 'null')
      .map(({ key, value }) => [key, { key, text: rawText(value) }]),
  );
  return applySplices(doc.bytes, splicesToSetMembers(rootOf(doc), [...updates.values()])).toString();
}

/**
 * Removes the row of the project whose id is `feedback_id` and stores the new one, in one transaction. The new row has
 * the id the client gave, else a UUIDv7; a stored row with that id is replaced too.
 */
export const handleFeedbackReplace: OperationHandler = async (body, { user, signal }, { store, now, randomBytes }) => {
  const textOf = (name: string): string => firstStringMember(body, name) ?? '';
  const createdAt = now();
  const payload = rawText(getMember(body, 'payload') ?? body);
  const feedback = {
    project_id: textOf('project_id'),
    id: firstStringMember(body, 'id') ?? uuidV7(createdAt, randomBytes(10)),
    feedback_type: textOf('feedback_type'),
    trigger_ref: firstStringMember(body, 'trigger_ref') ?? null,
    // An index of PostgreSQL holds no longer ones.
    svc_ref: textOf('svc_ref').slice(0, 600),
    ...{ payload, record: rawText(body), svc_user_id: user, created_at: createdAt },
  };
  await store.commit(() => replaceFeedback(feedback, textOf('feedback_id')), signal);
  const created = new Date(createdAt).toISOString();
  return jsonResponse(200, { id: feedback.id, created_at: created, svc_user_id: user, payload: new RawJson(payload) });
};

function* replaceFeedback(
  feedback: { readonly project_id: string; readonly id: string; readonly [column: string]: string | number | null },
  replacedId: string,
): QuerySequence<void> {
  yield* deleteFeedback(feedback.project_id, replacedId, feedback.id);
  const columns = Object.keys(feedback).map((name) => `${name} = excluded.${name}`);
  // Another service may have stored the same id in the meantime.
  const conflict = `on conflict (project_id, id) do update set seq = excluded.seq, ${columns.join(', ')}`;
  yield* insertRow('feedback', feedback, conflict);
}

export function* deleteFeedback(project: string, id: string, otherId = id): QuerySequence<void> {
  yield { sql: 'delete from @feedback where project_id = ? and id in (?, ?)', values: [project, id, otherId] };
}
