import { getMember, isTrue, type JsonNode, kindOf, numberMember, rootOf } from '../../json/json-node.ts';
import { flagTarget, type Operation } from '../../operations/operation.ts';
import { type Draft, orderAddedFields, setDraftFields } from '../draft.ts';

export function requestedChoiceCount(body: JsonNode): number {
  return Math.max(1, numberMember(body, 'n') ?? 1);
}

/**
 * The draft with `stream: true` if the response is shown as it arrives, and the body neither sets `stream` nor
 * requests anything that cannot be streamed. `live`: one text on a terminal; `chunks`: each chunk as it arrives.
 * `needsUsage` requests token counts, too.
 */
export function withStreamEnabled(
  draft: Draft,
  operation: Operation,
  display: 'live' | 'chunks',
  needsUsage: boolean,
): Draft {
  const body = rootOf(draft.doc);
  const promptLogprobs = getMember(body, 'prompt_logprobs');
  const hasPromptLogprobs = promptLogprobs && kindOf(promptLogprobs) !== 'null';
  const isUnstreamable = hasPromptLogprobs || isTrue(getMember(body, 'use_beam_search'));
  const isUnreadable = display === 'live' && requestedChoiceCount(body) > 1;
  if (!operation.canStream || isUnstreamable || isUnreadable || getMember(body, 'stream')) return draft;
  const origin = { label: 'svc' };
  const usage = { path: ['stream_options'], text: '{"include_usage":true}', origin };
  const isUsageAdded = needsUsage && !getMember(body, 'stream_options');
  const edits = [{ path: ['stream'], text: 'true', origin }, ...(isUsageAdded ? [usage] : [])];
  const target = flagTarget(operation);
  return orderAddedFields(setDraftFields(draft, target, edits), target);
}
