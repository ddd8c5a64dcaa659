import type { JsonValue } from '../../json/write-json.ts';
import { type GeneratedChoice, type GeneratedToolCall, generateChoices } from './generate-choices.ts';
import { logprobEntries, promptLogprobEntries } from './logprobs.ts';
import type { ModelRequest } from './model-request.ts';
import { type Token, tokenizeText } from './tokenizer.ts';

/** The fields that all chunks of a completion share. */
export interface CompletionIdentity {
  readonly id: string;
  /** Seconds since 1970. */
  readonly created: number;
}

/** The model of every completion of the built-in model, whatever model was requested. */
export const localModelName = 'svc-local';
const fingerprint = 'svc-local-built-in';

type JsonFields = { readonly [name: string]: JsonValue | undefined };

/** The chat completion of a request. */
export function chatCompletion(request: ModelRequest, identity: CompletionIdentity): JsonValue {
  const prompt = tokenizeText(request.prompt);
  const generated = generateChoices(request);
  return {
    ...completionHeader(identity, 'chat.completion'),
    choices: generated.map((reply, index) => completionChoice(request, reply, index)),
    usage: tokenUsage(
      prompt,
      generated.reduce((sum, { tokens, toolCall }) => sum + tokens.length + (toolCall?.argumentTokens.length ?? 0), 0),
    ),
    prompt_logprobs:
      request.promptLogprobs === undefined ? undefined : promptLogprobEntries(prompt, request.promptLogprobs),
    prompt_token_ids: request.hasTokenIds ? prompt.map(({ id }) => id) : undefined,
  };
}

/** The chunks of the same completion: a role for each choice, a chunk per token, a finish reason, and usage if requested. */
export function* chatCompletionChunks(request: ModelRequest, identity: CompletionIdentity): Generator<JsonValue> {
  const prompt = tokenizeText(request.prompt);
  const generated = generateChoices(request);
  let sentTokens = 0;
  const chunk = (choices: JsonValue[], more: JsonFields = {}): JsonValue => ({
    ...completionHeader(identity, 'chat.completion.chunk'),
    choices,
    ...(request.stream?.hasUsageInChunks ? { usage: tokenUsage(prompt, sentTokens) } : {}),
    ...more,
  });
  const first = request.hasTokenIds ? { prompt_token_ids: prompt.map(({ id }) => id) } : {};
  for (const [index, { echoedText }] of generated.entries()) {
    yield chunk(
      [{ index, delta: { role: 'assistant', content: echoedText }, finish_reason: null }],
      index === 0 ? first : {},
    );
  }
  for (const [index, { reasoning }] of generated.entries()) {
    if (reasoning) yield chunk([{ index, delta: { reasoning }, finish_reason: null }]);
  }
  const longest = Math.max(...generated.map(({ tokens }) => tokens.length));
  for (let position = 0; position < longest; position++) {
    for (const [index, { tokens }] of generated.entries()) {
      const token = tokens[position];
      if (!token) continue;
      sentTokens += 1;
      yield chunk([
        { index, delta: { content: token.text }, ...tokenDetails(request, [token], position), finish_reason: null },
      ]);
    }
  }
  for (const [index, { toolCall }] of generated.entries()) {
    if (!toolCall) continue;
    const { id, name, argumentTokens } = toolCall;
    const start = { index: 0, id, type: 'function', function: { name, arguments: '' } };
    yield chunk([{ index, delta: { tool_calls: [start] }, finish_reason: null }]);
    for (const { text } of argumentTokens) {
      sentTokens += 1;
      yield chunk([
        { index, delta: { tool_calls: [{ index: 0, function: { arguments: text } }] }, finish_reason: null },
      ]);
    }
  }
  for (const [index, reply] of generated.entries()) yield chunk([{ index, delta: {}, ...finishFields(reply) }]);
  if (request.stream?.hasUsage) yield chunk([], { usage: tokenUsage(prompt, sentTokens) });
}

function completionHeader({ id, created }: CompletionIdentity, object: string): JsonFields {
  return { id, object, created, model: localModelName, system_fingerprint: fingerprint };
}

function completionChoice(request: ModelRequest, generated: GeneratedChoice, index: number): JsonValue {
  const content = generated.echoedText + generated.tokens.map(({ text }) => text).join('');
  const message = {
    role: 'assistant',
    content,
    reasoning: generated.reasoning,
    tool_calls: generated.toolCall && [completeToolCall(generated.toolCall)],
  };
  return { index, message, ...tokenDetails(request, generated.tokens, 0), ...finishFields(generated) };
}

function completeToolCall({ id, name, argumentTokens }: GeneratedToolCall): JsonValue {
  return { id, type: 'function', function: { name, arguments: argumentTokens.map(({ text }) => text).join('') } };
}

function tokenDetails(request: ModelRequest, tokens: readonly Token[], position: number): JsonFields {
  return {
    logprobs: request.logprobs ? { content: logprobEntries(tokens, position, request) } : undefined,
    token_ids: request.hasTokenIds ? tokens.map(({ id }) => id) : undefined,
  };
}

function finishFields({ finishReason, stopTokenId }: GeneratedChoice): JsonFields {
  return { finish_reason: finishReason, stop_reason: stopTokenId };
}

function tokenUsage(prompt: readonly Token[], generated: number): JsonValue {
  return { prompt_tokens: prompt.length, completion_tokens: generated, total_tokens: prompt.length + generated };
}
