import { uuidV7 } from '../../fields/uuid.ts';
import { applySplices } from '../../json/apply-splices.ts';
import { splicesToSetMembers } from '../../json/edit.ts';
import { firstStringMember, getMember, type JsonNode, membersOf, rawText, rootOf } from '../../json/json-node.ts';
import { parseJson } from '../../json/parse-json.ts';
import { jsonResponse } from '../responses.ts';
import type { OperationHandler } from '../service-context.ts';

/** Stores the start of a call under its id, made here if absent. The same id again changes the members it names and stays one call. */
export const handleCallStart: OperationHandler = async (body, { signal }, { store, commit, now, randomBytes }) => {
  const start = getMember(body, 'start') ?? body;
  const project = firstStringMember(start, 'project_id') ?? '';
  const id = firstStringMember(start, 'id') ?? uuidV7(now(), randomBytes(10));
  const trace = await commit(() => {
    const existing = store.first('select trace_id, start from calls where project_id = ? and id = ?', project, id);
    const storedTraceId = typeof existing?.trace_id === 'string' ? existing.trace_id : undefined;
    const traceId = firstStringMember(start, 'trace_id') ?? storedTraceId ?? uuidV7(now(), randomBytes(10));
    const merged = typeof existing?.start === 'string' ? mergeStart(existing.start, start) : rawText(start);
    store.run(
      'insert into calls (project_id, id, trace_id, start, created_at) values (?, ?, ?, ?, ?) on conflict do update set trace_id = excluded.trace_id, start = excluded.start',
      ...[project, id, traceId, merged, now()],
    );
    return traceId;
  }, signal);
  return jsonResponse(200, { id, trace_id: trace });
};

function mergeStart(before: string, start: JsonNode): string {
  const doc = parseJson(before);
  const updates = new Map(Array.from(membersOf(start), ({ key, value }) => [key, { key, text: rawText(value) }]));
  return applySplices(doc.bytes, splicesToSetMembers(rootOf(doc), [...updates.values()])).toString();
}
