import { Buffer } from 'node:buffer';
import { pluralize } from '../../json/pluralize.ts';
import type { JsonValue } from '../../json/write-json.ts';
import type { ModelRequest } from './model-request.ts';
import { createToken, hashText, type Token, tokenizeText, tokenLogprob } from './tokenizer.ts';

/** One choice of the built-in model. */
export interface GeneratedChoice {
  readonly reasoning: string | undefined;
  /** The tool that the tokens are the arguments of; else they are text. */
  readonly tool: { readonly id: string; readonly name: string } | undefined;
  readonly tokens: readonly Token[];
  readonly finishReason: 'stop' | 'length' | 'tool_calls';
  readonly stopTokenId?: number;
}

const MAX_QUOTED_CHARS = 60;

/** The choices for a request, a function of the messages, the seed and the number of choices alone. */
export function generateChoices(request: ModelRequest): GeneratedChoice[] {
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
    if (name === undefined) return { reasoning, tool: undefined, ...applyLimits(tokens, request) };
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

function applyLimits(tokens: readonly Token[], request: ModelRequest): LimitedTokens {
  const stopped = applyStops(tokens, request);
  if (stopped.tokens.length <= request.maxTokens) return stopped;
  return { tokens: stopped.tokens.slice(0, request.maxTokens), finishReason: 'length' };
}

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

/** The entries of `logprobs.content` for tokens that start at `position`. */
export function logprobEntries(
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
export function promptLogprobEntries(tokens: readonly Token[], count: number): JsonValue {
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
  const found = [{ token, logprob: tokenLogprob(token, position) }];
  const ids = new Set([token.id]);
  let remainingLogprob = Math.log(-Math.expm1(tokenLogprob(token, position)));
  for (let at = 2; found.length < count; at++) {
    const other = createToken(`${token.text}~${at}`);
    if (ids.has(other.id)) continue;
    ids.add(other.id);
    remainingLogprob -= Math.LN2;
    found.push({ token: other, logprob: remainingLogprob });
  }
  return found;
}
