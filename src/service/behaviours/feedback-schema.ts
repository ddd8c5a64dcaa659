import { parseJson } from '../../json/document.ts';
import { type JsonNode, member, rootOf, stringIn, textOf } from '../../json/node.ts';
import { feedbackSchema } from '../../operations/feedback-schema.ts';
import { payloadPaths } from '../payload-paths.ts';
import { samplePayloads, type Wanted } from '../payload-sample.ts';
import { jsonReply } from '../replies.ts';
import type { Behaviour } from '../world.ts';

/** Samples the newest payload of each trigger in the window, the newest first, and tells their paths and types. */
export const describePayloads: Behaviour = (body, _caller, { store, now }) => {
  const payloads = samplePayloads(wantedBy(body, now()), store).map((payload) => rootOf(parseJson(payload)));
  return jsonReply(200, {
    paths: payloadPaths(payloads).map(({ path, type }) => ({ json_path: path, value_type: type })),
  });
};

function wantedBy(body: JsonNode, now: number): Wanted {
  const trigger = stringIn(body, 'trigger_ref');
  const isPrefix = trigger?.endsWith(':*') === true;
  const end = stringIn(body, 'end');
  const limit = member(body, 'sample_limit');
  return {
    project: stringIn(body, 'project_id') ?? '',
    // What was stored within this very millisecond is in the past, too.
    window: [firstMillisecond(stringIn(body, 'start') ?? ''), end === undefined ? now + 1 : firstMillisecond(end)],
    type: stringIn(body, 'feedback_type'),
    trigger: trigger === undefined ? undefined : { ref: isPrefix ? trigger.slice(0, -1) : trigger, isPrefix },
    limit: limit ? Number(textOf(limit)) : feedbackSchema.body.sample_limit.default,
  };
}

// The first whole millisecond that is not before the time; a time without a zone is UTC.
function firstMillisecond(time: string): number {
  const zoned = /(?:Z|[+-]\d{2}:\d{2})$/.test(time) ? time : `${time}Z`;
  const isBetween = /\.\d{3}\d*[1-9]/.test(time);
  return Date.parse(zoned) + (isBetween ? 1 : 0);
}
