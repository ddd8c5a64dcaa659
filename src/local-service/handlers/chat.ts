import { uuidV7 } from '../../fields/uuid.ts';
import { firstStringMember, getMember, type JsonNode, kindOf, rawText } from '../../json/json-node.ts';
import { compareNumberLiterals } from '../../json/number-literal.ts';
import type { Operation } from '../../operations/operation.ts';
import { copyResponse, redactCopies } from '../body-copy.ts';
import { chatCompletion, chatCompletionChunks, tokenizeText } from '../model/chat-completion.ts';
import { type ModelRequest, readModelRequest } from '../model/model-request.ts';
import { collectRequestBody, createBodyResponder, requireServedModel } from '../operation-route.ts';
import { eventStreamResponse, fieldError, jsonResponse } from '../responses.ts';
import type { Caller, Respond, ServiceContext } from '../service-context.ts';
import { serviceLimits } from '../service-context.ts';
import { insertRows } from '../store/row-query.ts';

const MAX_STORED_CHAT_BYTES = 4 * 1024 * 1024;

/**
 * Responds to chats with the built-in model, or with an upstream server, which alone validates them. Stores chats for the page,
 * up to 4 MiB in each direction; a failure to store is ignored.
 */
export function chatResponder(operation: Operation, context: ServiceContext): Respond {
  const { upstream, store, now, elapsed, randomBytes } = context;
  const respond = createBodyResponder(handleChat, operation, context);
  return async (request, caller) => {
    const [createdAt, startedMs] = [now(), elapsed()];
    const body = await collectRequestBody(request, operation, context, upstream !== undefined);
    const response = upstream ? await upstream(operation.path, { ...request, body }) : await respond(body, caller);
    return copyResponse(response, MAX_STORED_CHAT_BYTES, async (received) => {
      const copies = redactCopies(body.subarray(0, MAX_STORED_CHAT_BYTES), received, operation);
      // PostgreSQL cannot store U+0000, which JSON text does not contain either.
      const [question = '', answer = ''] = copies.map((copy) => copy.toString().replaceAll('\0', '\ufffd'));
      const times = { created_at: createdAt, duration_ms: Math.round(elapsed() - startedMs) };
      const id = uuidV7(createdAt, randomBytes(10));
      const chat = { id, request: question, response: answer, status: response.status, ...times };
      await store.commit(() => insertRows('chats', [chat])).catch(() => {});
    });
  };
}

async function handleChat(body: JsonNode, { signal }: Caller, { models, now, randomBytes }: ServiceContext) {
  const model = firstStringMember(body, 'model');
  if (model !== undefined) requireServedModel(model, models);
  const priority = getMember(body, 'priority');
  if (priority && kindOf(priority) === 'number' && compareNumberLiterals(rawText(priority), '0') !== 0) {
    throw fieldError('priority', 'other than 0 needs priority scheduling, which the built-in model does not have');
  }
  const request = await readModelRequest(body);
  requireFewTokens(request);
  const id = `chatcmpl-${request.id ?? uuidV7(now(), randomBytes(10)).replaceAll('-', '')}`;
  const identity = { id, model: models ? (model ?? models[0]) : undefined, created: Math.floor(now() / 1000) };
  return request.isStreamed
    ? eventStreamResponse(chatCompletionChunks(request, identity), signal)
    : jsonResponse(200, chatCompletion(request, identity));
}

function requireFewTokens(request: ModelRequest): void {
  const { choiceCount, minTokens, fixedText = '', prompt, stopStrings, stopTokenIds } = request;
  const { topLogprobs = 0, promptLogprobs = 0 } = request;
  const limits = serviceLimits;
  for (const [field, value, most] of [
    ['n', choiceCount, limits.choices],
    ['min_tokens', minTokens, limits.minTokens],
    ['top_logprobs', topLogprobs, limits.topLogprobs],
    ['prompt_logprobs', promptLogprobs, limits.topLogprobs],
  ] as const)
    if (value > most) throw fieldError(field, `may be at most ${most} here`);
  // Roughly the work for a response: each token is compared with each stop and has alternatives.
  const tokens = Math.max(minTokens, tokenizeText(fixedText).length);
  const perToken = 1 + stopStrings.length + stopTokenIds.length + topLogprobs;
  const promptVisits = promptLogprobs > 0 ? promptLogprobs * tokenizeText(prompt).length : 0;
  if (choiceCount * tokens * perToken + promptVisits > limits.tokenVisits)
    throw fieldError('n', 'and tokens, logprobs and stops together exceed the limit of the built-in model');
}
