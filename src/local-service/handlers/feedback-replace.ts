import { uuidV7 } from '../../fields/uuid.ts';
import { firstStringMember, getMember, rawText } from '../../json/json-node.ts';
import { RawJson } from '../../json/write-json.ts';
import { jsonResponse } from '../responses.ts';
import type { OperationHandler } from '../service-context.ts';

/**
 * Removes the row of the project whose id is `feedback_id` and stores the new one, in one transaction. The new row has
 * the id the client gave, else a UUIDv7; a row that has that id already gives way too.
 */
export const handleFeedbackReplace: OperationHandler = async (
  body,
  { user, signal },
  { store, commit, now, randomBytes },
) => {
  const stringField = (name: string): string | null => firstStringMember(body, name) ?? null;
  const project = stringField('project_id') ?? '';
  const payload = rawText(getMember(body, 'payload') ?? body);
  const id = stringField('id') ?? uuidV7(now(), randomBytes(10));
  const createdAt = await commit(() => {
    const time = now();
    store.run('delete from feedback where project_id = ? and id in (?, ?)', project, stringField('feedback_id'), id);
    store.run(
      'insert into feedback (project_id, id, feedback_type, trigger_ref, payload, record, svc_user_id, created_at) values (?, ?, ?, ?, ?, ?, ?, ?)',
      ...[project, id, stringField('feedback_type'), stringField('trigger_ref'), payload, rawText(body), user, time],
    );
    return time;
  }, signal);
  return jsonResponse(200, {
    id,
    created_at: new Date(createdAt).toISOString(),
    svc_user_id: user,
    payload: new RawJson(payload),
  });
};
