import { uuid7 } from '../../fields/uuid.ts';
import { JsonError } from '../../json/json-error.ts';
import { type JsonNode, kindOf, member, textOf } from '../../json/node.ts';
import { compareNumbers } from '../../json/number.ts';
import { completion, completionChunks } from '../model/completion.ts';
import { type ModelRequest, readModelRequest } from '../model/request.ts';
import { tokensOf } from '../model/tokens.ts';
import { Refusal } from '../refusal.ts';
import { eventReply, jsonReply } from '../replies.ts';
import type { Behaviour } from '../world.ts';

// What one process will make at most; a model server has bounds of its own.
const MOST_CHOICES = 128;
const MOST_TOKENS = 32_768;
const MOST_ALTERNATIVES = 100;
// Looks at tokens, over all choices.
const MOST_WORK = 2_000_000;

/** Answers a chat with the built-in model, streamed or not, or has it answered by the upstream server. */
export const answerChat: Behaviour = (body, { signal }, { now, randomBytes, upstream }) => {
  if (upstream) return upstream(body.doc.bytes, signal);
  const priority = member(body, 'priority');
  if (priority && kindOf(priority) === 'number' && compareNumbers(textOf(priority), '0') !== 0) {
    throw new Refusal(400, 'priority other than 0 needs priority scheduling, which the built-in model does not have');
  }
  const request = readRequest(body);
  const id = `chatcmpl-${request.requestId ?? uuid7(now(), randomBytes(10)).replaceAll('-', '')}`;
  const identity = { id, created: Math.floor(now() / 1000) };
  return request.stream
    ? eventReply(completionChunks(request, identity), signal)
    : jsonReply(200, completion(request, identity));
};

function readRequest(body: JsonNode): ModelRequest {
  let request: ModelRequest;
  try {
    request = readModelRequest(body);
  } catch (error) {
    if (error instanceof JsonError) throw new Refusal(400, `structured_outputs.json is not JSON: ${error.message}`);
    throw error;
  }
  const { choices, least, logprobs, promptLogprobs = 0 } = request;
  if (choices > MOST_CHOICES) throw new Refusal(400, `n may be at most ${MOST_CHOICES} here`);
  if (least > MOST_TOKENS) throw new Refusal(400, `min_tokens may be at most ${MOST_TOKENS} here`);
  if (Math.max(logprobs?.top ?? 0, promptLogprobs) > MOST_ALTERNATIVES)
    throw new Refusal(400, `top_logprobs and prompt_logprobs may be at most ${MOST_ALTERNATIVES} here`);
  if (workOf(request) > MOST_WORK)
    throw new Refusal(400, 'n, tokens, logprobs and stops together are more than the built-in model makes');
  return request;
}

// About how many looks at tokens a reply takes: each is compared with each stop, and has its alternatives.
function workOf({
  choices,
  least,
  fixed = '',
  prompt,
  stops,
  stopIds,
  logprobs,
  promptLogprobs = 0,
}: ModelRequest): number {
  const tokens = Math.max(least, tokensOf(fixed).length);
  const perToken = 1 + stops.length + stopIds.length + (logprobs?.top ?? 0);
  return choices * tokens * perToken + (promptLogprobs > 0 ? promptLogprobs * tokensOf(prompt).length : 0);
}
