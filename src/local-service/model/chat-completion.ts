import { Buffer } from 'node:buffer';
import type { JsonValue } from '../../json/write-json.ts';
import { pluralize } from '../../output/transfer-text.ts';
import type { ModelRequest } from './model-request.ts';

interface CompletionIdentity {
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
      finish_reason: choice.finishReason,
      stop_reason: choice.stopTokenId,
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
  const { tool, tokens, reasoning, finishReason, stopTokenId } = choice;
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
  yield [{ delta: {}, finish_reason: finishReason, stop_reason: stopTokenId }, 0];
}

function tokenDetails(request: ModelRequest, tokens: readonly Token[], position: number): JsonFields {
  return {
    logprobs: request.topLogprobs === undefined ? undefined : { content: logprobEntries(tokens, position, request) },
    token_ids: request.hasTokenIds ? tokenIds(tokens) : undefined,
  };
}

function tokenIds(tokens: readonly Token[]): number[] {
  return tokens.map(({ id }) => id);
}

function tokenUsage(prompt: readonly Token[], generated: number): JsonValue {
  return { prompt_tokens: prompt.length, completion_tokens: generated, total_tokens: prompt.length + generated };
}

interface GeneratedChoice {
  readonly reasoning: string | undefined;
  /** The tool that the tokens are the arguments of; else they are text. */
  readonly tool: { readonly id: string; readonly name: string } | undefined;
  readonly tokens: readonly Token[];
  readonly finishReason: 'stop' | 'length' | 'tool_calls';
  readonly stopTokenId?: number;
}

const MAX_QUOTED_CHARS = 60;

/** The choices for a request, a function of the messages, the seed and the number of choices alone. */
function generateChoices(request: ModelRequest): GeneratedChoice[] {
  const { seed, choiceCount, fixedText, toolName: name } = request;
  // Prompts can be long: read them once, not once per choice.
  const seedPrefix = `${seed}/${hashText(request.prompt)}`;
  const sentence = describePrompt(request);
  const reasoning = request.hasReasoning
    ? `The last message has ${wordCount(request)}; the seed is ${seed}.`
    : undefined;
  const fixedTokens = fixedText === undefined ? undefined : tokenizeText(fixedText);
  return Array.from({ length: choiceCount }, (_, index) => {
    const tokens = fixedTokens ?? tokenizeText(composeText(request, sentence, index));
    if (name === undefined) {
      const stopped = applyStops(tokens, request);
      const isCut = stopped.tokens.length > request.maxTokens;
      const limited = isCut
        ? { tokens: stopped.tokens.slice(0, request.maxTokens), finishReason: 'length' as const }
        : stopped;
      return { reasoning, tool: undefined, ...limited };
    }
    const hash = [0, 1].map((part) => hashText(`${seedPrefix}/${index}/${part}`).toString(16).padStart(8, '0'));
    return { reasoning, tool: { id: `call_${hash.join('')}`, name }, tokens, finishReason: 'tool_calls' };
  });
}

// What was said last and by whom, without the end of the sentence.
function describePrompt({ last, isContinuation }: ModelRequest): string {
  if (isContinuation) return " (continued by svc's built-in model";
  const author = last.role === 'user' || last.role === '' ? 'You' : `The ${last.role}`;
  const words = last.text.replace(/\s+/g, ' ').trim();
  if (words === '') return `${author} sent no text`;
  const characters = [...words];
  const quoted = characters.slice(0, MAX_QUOTED_CHARS).join('');
  const ellipsis = characters.length > MAX_QUOTED_CHARS ? '…' : '';
  return `${author} ${words.endsWith('?') ? 'asked' : 'said'} "${quoted}${ellipsis}": ${wordCount({ last })}`;
}

function wordCount({ last }: Pick<ModelRequest, 'last'>): string {
  const words = tokenizeText(last.text.trim()).length;
  return `${words} ${pluralize(words, 'word')}`;
}

// Names the seed and the choice, so that different ones differ, and counts its own words up to min_tokens.
function composeText(
  { seed, choiceCount, isContinuation, minTokens }: ModelRequest,
  sentence: string,
  index: number,
): string {
  const seedNote = seed === '0' ? '' : `, seed ${seed}`;
  const choiceNote = choiceCount === 1 ? '' : `, choice ${index + 1} of ${choiceCount}`;
  const end = isContinuation
    ? '; it is for tests, not a real one)'
    : ". This is svc's built-in model; it is for tests, not a real one.";
  const text = `${sentence}${seedNote}${choiceNote}${end}`;
  const length = tokenizeText(text).length;
  if (length >= minTokens) return text;
  const opening = ' Counting to min_tokens:';
  const first = length + tokenizeText(opening).length + 1;
  const numbers = Array.from({ length: Math.max(0, minTokens - first + 1) }, (_, at) => ` ${first + at}`);
  return `${text}${opening}${numbers.join('')}`;
}

type LimitedTokens = Pick<GeneratedChoice, 'tokens' | 'finishReason' | 'stopTokenId'>;

function applyStops(tokens: readonly Token[], request: ModelRequest): LimitedTokens {
  const { stopStrings, stopTokenIds, minTokens, isStopKept } = request;
  const finishReason = 'stop';
  let text = '';
  // Stops within the first min_tokens tokens are ignored.
  let unstoppableLength = 0;
  for (const [at, token] of tokens.entries()) {
    text += token.text;
    if (at < minTokens) {
      unstoppableLength = text.length;
      continue;
    }
    if (stopTokenIds.includes(token.id))
      return { tokens: tokens.slice(0, isStopKept ? at + 1 : at), finishReason, stopTokenId: token.id };
    const [first] = stopStrings
      .map((stop) => ({ stop, from: text.indexOf(stop, Math.max(0, unstoppableLength - stop.length + 1)) }))
      .filter(({ from }) => from !== -1)
      .sort((left, right) => left.from - right.from);
    if (!first) continue;
    const end = first.from + (isStopKept ? first.stop.length : 0);
    return { tokens: tokenizeText(text.slice(0, end)), finishReason };
  }
  return { tokens, finishReason };
}

function logprobEntries(
  tokens: readonly Token[],
  position: number,
  { topLogprobs = 0, hasIdsAsTokens }: ModelRequest,
): JsonValue {
  return tokens.map((generated, at) => {
    const entries = likeliestTokens(generated, position + at, topLogprobs).map(({ token: { id, text }, logprob }) => ({
      token: hasIdsAsTokens ? `token_id:${id}` : text,
      logprob,
      bytes: [...Buffer.from(text)],
    }));
    return { ...entries[0], top_logprobs: entries.slice(0, topLogprobs) };
  });
}

/** The entries of `prompt_logprobs`: null for the first token, then the likeliest tokens of each position by token id. */
function promptLogprobEntries(tokens: readonly Token[], count: number): JsonValue {
  return tokens.map((token, position) => {
    if (position === 0) return null;
    return Object.fromEntries(
      likeliestTokens(token, position, count).map((one, rank) => [
        String(one.token.id),
        { logprob: one.logprob, rank: rank + 1, decoded_token: one.token.text },
      ]),
    );
  });
}

// The generated token, which is always the likeliest, and numbered others; each of them has half of the remaining probability.
function likeliestTokens(token: Token, position: number, count: number) {
  // Invented, above one half, and always the same.
  const logprob = -(1 + (hashText(`${position}:${token.text}`) % 600)) / 1000;
  const found = [{ token, logprob }];
  const ids = new Set([token.id]);
  let remainingLogprob = Math.log(-Math.expm1(logprob));
  for (let at = 2; found.length < count; at++) {
    const other = createToken(`${token.text}~${at}`);
    if (ids.has(other.id)) continue;
    ids.add(other.id);
    remainingLogprob -= Math.LN2;
    found.push({ token: other, logprob: remainingLogprob });
  }
  return found;
}

/** A token of the built-in model: a word with the space before it. */
interface Token {
  readonly text: string;
  readonly id: number;
}

// A typical vocabulary; ids only need to be stable.
const VOCABULARY_TOKENS = 32_000;

/** The tokens of a text; joined they are the text again. */
export function tokenizeText(text: string): Token[] {
  return (text.match(/\s*\S+|\s+$/gu) ?? []).map(createToken);
}

function createToken(text: string): Token {
  return { text, id: hashText(text) % VOCABULARY_TOKENS };
}

/** A number from 0 to 2^32-1 that depends on every character of a text (FNV-1a); the same on every machine. */
function hashText(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  return value >>> 0;
}
