import { uuid7 } from '../../fields/uuid.ts';
import { member, stringIn, textOf } from '../../json/node.ts';
import { RawJson } from '../../json/write.ts';
import { jsonReply } from '../replies.ts';
import type { Behaviour } from '../world.ts';

/**
 * Removes the row of the project whose id is `feedback_id` and stores the new one, in one transaction. The new row has
 * the id the client gave, else a UUIDv7; a row that has that id already gives way too.
 */
export const replaceFeedback: Behaviour = async (body, { user, signal }, { store, commit, now, randomBytes }) => {
  const text = (name: string): string | null => stringIn(body, name) ?? null;
  const project = text('project_id') ?? '';
  const payload = textOf(member(body, 'payload') ?? body);
  const id = text('id') ?? uuid7(now(), randomBytes(10));
  const createdAt = await commit(() => {
    const time = now();
    store.run('delete from feedback where project_id = ? and id in (?, ?)', project, text('feedback_id'), id);
    store.run(
      'insert into feedback (project_id, id, feedback_type, trigger_ref, payload, record, svc_user_id, created_at) values (?, ?, ?, ?, ?, ?, ?, ?)',
      ...[project, id, text('feedback_type'), text('trigger_ref'), payload, textOf(body), user, time],
    );
    return time;
  }, signal);
  return jsonReply(200, {
    id,
    created_at: new Date(createdAt).toISOString(),
    svc_user_id: user,
    payload: new RawJson(payload),
  });
};
