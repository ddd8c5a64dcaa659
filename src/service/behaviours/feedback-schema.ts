import { parseJson } from '../../json/document.ts';
import { type JsonNode, member, rootOf, stringIn, textOf } from '../../json/node.ts';
import { feedbackSchema } from '../../operations/feedback-schema.ts';
import { payloadPaths } from '../payload-paths.ts';
import { jsonReply } from '../replies.ts';
import type { Value } from '../store.ts';
import type { Behaviour } from '../world.ts';

/** Samples the newest payload of each trigger in the window, the newest first, and tells their paths and types. */
export const describePayloads: Behaviour = (body, _caller, { store, now }) => {
  const { sql, values } = sampleQuery(body, now());
  const payloads = store
    .all(sql, ...values)
    .flatMap(({ payload }) => (typeof payload === 'string' ? [rootOf(parseJson(payload))] : []));
  return jsonReply(200, {
    paths: payloadPaths(payloads).map(({ path, type }) => ({ json_path: path, value_type: type })),
  });
};

// SQLite takes the other columns of a group from the row that has the max; no trigger is one group.
function sampleQuery(body: JsonNode, now: number): { sql: string; values: Value[] } {
  const trigger = stringIn(body, 'trigger_ref');
  const prefix = trigger?.endsWith(':*') ? trigger.slice(0, -1) : undefined;
  const end = stringIn(body, 'end');
  const limit = member(body, 'sample_limit');
  const conditions: readonly (readonly [sql: string, ...values: (Value | undefined)[]])[] = [
    ['project_id = ?', stringIn(body, 'project_id')],
    ['created_at >= ?', firstMillisecond(stringIn(body, 'start') ?? '')],
    // What was stored within this very millisecond is in the past, too.
    ['created_at < ?', end === undefined ? now + 1 : firstMillisecond(end)],
    ['feedback_type = ?', stringIn(body, 'feedback_type')],
    ['trigger_ref = ?', prefix === undefined ? trigger : undefined],
    ['substr(trigger_ref, 1, ?) = ?', prefix?.length, prefix],
  ];
  const used = conditions.flatMap(([sql, ...values]) => {
    const given = values.filter((value) => value !== undefined);
    return given.length > 0 ? [{ sql, given }] : [];
  });
  return {
    sql: `select payload, max(seq) as newest from feedback where ${used.map(({ sql }) => sql).join(' and ')}
          group by trigger_ref order by newest desc limit ?`,
    values: [
      ...used.flatMap(({ given }) => given),
      limit ? Number(textOf(limit)) : feedbackSchema.body.sample_limit.default,
    ],
  };
}

// The first whole millisecond that is not before the time; a time without a zone is UTC.
function firstMillisecond(time: string): number {
  const zoned = /(?:Z|[+-]\d{2}:\d{2})$/.test(time) ? time : `${time}Z`;
  const isBetween = /\.\d{3}\d*[1-9]/.test(time);
  return Date.parse(zoned) + (isBetween ? 1 : 0);
}
