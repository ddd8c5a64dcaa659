import { firstStringMember, getMember, type JsonNode, kindOf, rawText, rootOf } from '../../json/json-node.ts';
import { parseJson } from '../../json/parse-json.ts';
import { feedbackSchemaOperation } from '../../operations/feedback-schema.ts';
import { yieldToEventLoop } from '../event-loop.ts';
import { jsonResponse } from '../responses.ts';
import type { OperationHandler } from '../service-context.ts';
import type { PayloadQuery } from '../store/payload-query.ts';
import { inferPayloadPaths } from './payload-paths.ts';

/** Samples the newest payload of each trigger in the window, the newest first, and reports their paths and types. */
export const handleFeedbackSchema: OperationHandler = async (body, { signal }, { store, now }) => {
  const payloads = await store.samplePayloads(payloadQueryOf(body, now()));
  await yieldToEventLoop(signal);
  return jsonResponse(200, {
    paths: inferPayloadPaths(payloads.map((payload) => rootOf(parseJson(payload)))).map(({ path, type }) => ({
      json_path: path,
      value_type: type,
    })),
  });
};

function payloadQueryOf(body: JsonNode, now: number): PayloadQuery {
  const trigger = firstStringMember(body, 'trigger_ref');
  const isPrefix = trigger?.endsWith(':*') === true;
  const end = firstStringMember(body, 'end');
  const limit = getMember(body, 'sample_limit');
  return {
    project: firstStringMember(body, 'project_id') ?? '',
    // Records stored within this very millisecond belong to the window.
    window: [
      firstMillisecond(firstStringMember(body, 'start') ?? ''),
      end === undefined ? now + 1 : firstMillisecond(end),
    ],
    type: firstStringMember(body, 'feedback_type'),
    trigger: trigger === undefined ? undefined : { ref: isPrefix ? trigger.slice(0, -1) : trigger, isPrefix },
    limit:
      limit && kindOf(limit) === 'number' ? Number(rawText(limit)) : feedbackSchemaOperation.body.sample_limit.default,
  };
}

// The first whole millisecond that is not before the time; a time without a zone is UTC.
function firstMillisecond(text: string): number {
  const time = text.toUpperCase().replace(/([+-]\d{2})(\d{2})$/, '$1:$2');
  const zoned = /(?:Z|[+-]\d{2}:\d{2})$/.test(time) ? time : `${time}Z`;
  const hasSubMillisecond = /\.\d{3}\d*[1-9]/.test(time);
  return Date.parse(zoned) + (hasSubMillisecond ? 1 : 0);
}
