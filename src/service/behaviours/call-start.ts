import { uuid7 } from '../../fields/uuid.ts';
import { parseJson } from '../../json/document.ts';
import { setMembers } from '../../json/edit.ts';
import { type JsonNode, member, membersOf, rootOf, stringIn, textOf } from '../../json/node.ts';
import { splice } from '../../json/splice.ts';
import { jsonReply } from '../replies.ts';
import type { Behaviour } from '../world.ts';

/** Stores the start of a call under its id, made here if absent. The same id again changes the members it names and stays one call. */
export const startCall: Behaviour = async (body, { signal }, { store, commit, now, randomBytes }) => {
  const start = member(body, 'start') ?? body;
  const project = stringIn(start, 'project_id') ?? '';
  const id = stringIn(start, 'id') ?? uuid7(now(), randomBytes(10));
  const trace = await commit(() => {
    const before = store.first('select trace_id, start from calls where project_id = ? and id = ?', project, id);
    const known = typeof before?.trace_id === 'string' ? before.trace_id : undefined;
    const traceId = stringIn(start, 'trace_id') ?? known ?? uuid7(now(), randomBytes(10));
    const merged = typeof before?.start === 'string' ? mergedStart(before.start, start) : textOf(start);
    store.run(
      'insert into calls (project_id, id, trace_id, start, created_at) values (?, ?, ?, ?, ?) on conflict do update set trace_id = excluded.trace_id, start = excluded.start',
      ...[project, id, traceId, merged, now()],
    );
    return traceId;
  }, signal);
  return jsonReply(200, { id, trace_id: trace });
};

function mergedStart(before: string, start: JsonNode): string {
  const doc = parseJson(before);
  const news = new Map(Array.from(membersOf(start), ({ key, value }) => [key, { key, text: textOf(value) }]));
  return splice(doc.bytes, setMembers(rootOf(doc), [...news.values()])).toString();
}
