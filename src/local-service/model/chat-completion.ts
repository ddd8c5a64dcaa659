import type { JsonValue } from '../../json/write-json.ts';
import { type GeneratedChoice, generateChoices, logprobEntries, promptLogprobEntries } from './generate-choices.ts';
import type { ModelRequest } from './model-request.ts';
import { type Token, tokenizeText } from './tokenizer.ts';

export interface CompletionIdentity {
  readonly id: string;
  readonly model?: string | undefined;
  /** Seconds since 1970. */
  readonly created: number;
}

/** The name of the built-in model, whatever model was requested. */
export const localModelName = 'svc-local';
const fingerprint = 'svc-local-built-in';

type JsonFields = { readonly [name: string]: JsonValue | undefined };

export function chatCompletion(request: ModelRequest, identity: CompletionIdentity): JsonValue {
  const { promptLogprobs, hasTokenIds } = request;
  const prompt = tokenizeText(request.prompt);
  const choices = generateChoices(request);
  const tokenCount = choices.reduce((sum, { tokens }) => sum + tokens.length, 0);
  return {
    ...completionHeader(identity, 'chat.completion'),
    choices: choices.map((choice, index) => ({
      index,
      message: completeMessage(request, choice),
      ...tokenDetails(request, choice.tokens, 0),
      ...finishFields(choice),
    })),
    usage: tokenUsage(prompt, tokenCount),
    prompt_logprobs: promptLogprobs === undefined ? undefined : promptLogprobEntries(prompt, promptLogprobs),
    prompt_token_ids: hasTokenIds ? tokenIds(prompt) : undefined,
  };
}

/** The chunks of the same completion, those of all choices in turn, and the usage if it is requested. */
export function* chatCompletionChunks(request: ModelRequest, identity: CompletionIdentity): Generator<JsonValue> {
  const prompt = tokenizeText(request.prompt);
  const header = completionHeader(identity, 'chat.completion.chunk');
  let promptIds: JsonFields = request.hasTokenIds ? { prompt_token_ids: tokenIds(prompt) } : {};
  let sentTokens = 0;
  const streams = generateChoices(request).map((choice) => choiceChunks(request, choice));
  const nextOfEach = () => streams.map((stream) => stream.next());
  for (let round = nextOfEach(); round.some(({ done }) => !done); round = nextOfEach()) {
    for (const [index, { value }] of round.entries()) {
      if (!value) continue;
      const [fields, tokens] = value;
      sentTokens += tokens;
      const usage = request.hasUsageInChunks ? { usage: tokenUsage(prompt, sentTokens) } : {};
      yield { ...header, choices: [{ index, finish_reason: null, ...fields }], ...usage, ...promptIds };
      promptIds = {};
    }
  }
  if (request.hasUsageAtEnd) yield { ...header, choices: [], usage: tokenUsage(prompt, sentTokens) };
}

function completionHeader({ id, model = localModelName, created }: CompletionIdentity, object: string): JsonFields {
  return { id, object, created, model, system_fingerprint: fingerprint };
}

function completeMessage(request: ModelRequest, { tool, tokens, reasoning }: GeneratedChoice): JsonFields {
  const text = tokens.map((token) => token.text).join('');
  const calls = tool && [{ id: tool.id, type: 'function', function: { name: tool.name, arguments: text } }];
  return { role: 'assistant', content: tool ? '' : request.echoedText + text, reasoning, tool_calls: calls };
}

// The role, the reasoning, the tool, a chunk per token, and why it ended.
function* choiceChunks(
  request: ModelRequest,
  choice: GeneratedChoice,
): Generator<readonly [fields: JsonFields, tokens: number], undefined> {
  const { tool, tokens, reasoning } = choice;
  yield [{ delta: { role: 'assistant', content: tool ? '' : request.echoedText } }, 0];
  if (reasoning) yield [{ delta: { reasoning } }, 0];
  if (tool) {
    const call = { index: 0, id: tool.id, type: 'function', function: { name: tool.name, arguments: '' } };
    yield [{ delta: { tool_calls: [call] } }, 0];
  }
  for (const [position, token] of tokens.entries()) {
    const { text } = token;
    const delta = tool ? { tool_calls: [{ index: 0, function: { arguments: text } }] } : { content: text };
    yield [{ delta, ...tokenDetails(request, [token], position) }, 1];
  }
  yield [{ delta: {}, ...finishFields(choice) }, 0];
}

function tokenDetails(request: ModelRequest, tokens: readonly Token[], position: number): JsonFields {
  return {
    logprobs: request.topLogprobs === undefined ? undefined : { content: logprobEntries(tokens, position, request) },
    token_ids: request.hasTokenIds ? tokenIds(tokens) : undefined,
  };
}

function finishFields({ finishReason, stopTokenId }: GeneratedChoice): JsonFields {
  return { finish_reason: finishReason, stop_reason: stopTokenId };
}

function tokenIds(tokens: readonly Token[]): number[] {
  return tokens.map(({ id }) => id);
}

function tokenUsage(prompt: readonly Token[], generated: number): JsonValue {
  return { prompt_tokens: prompt.length, completion_tokens: generated, total_tokens: prompt.length + generated };
}
