import { Buffer } from 'node:buffer';
import { pluralize } from '../../json/pluralize.ts';
import type { JsonValue } from '../../json/write-json.ts';
import type { ModelRequest } from './model-request.ts';
import { createToken, hashText, type Token, tokenizeText, tokenLogprob, wordAt } from './tokenizer.ts';

/** One choice of the built-in model. */
export interface GeneratedChoice {
  readonly reasoning: string | undefined;
  /** The tool that the tokens are the arguments of; else they are text. */
  readonly tool: { readonly id: string; readonly name: string } | undefined;
  readonly tokens: readonly Token[];
  readonly finishReason: 'stop' | 'length' | 'tool_calls';
  readonly stopTokenId?: number;
}

// The default: long enough to watch it stream, short enough to read.
const DEFAULT_LENGTH_WORDS = 12;

/** The choices for a request, a function of the messages and the seed alone. */
export function generateChoices(request: ModelRequest): GeneratedChoice[] {
  // Prompts can be long: hash them once, not once per choice.
  const seedPrefix = `${request.seed}/${hashText(request.prompt)}`;
  const fixedTokens = request.fixedText === undefined ? undefined : tokenizeText(request.fixedText);
  const reasoning = request.hasReasoning ? reasoningLine(request) : undefined;
  return Array.from({ length: request.choiceCount }, (_, index) => {
    const seed = `${seedPrefix}/${index}`;
    const tokens = fixedTokens ?? tokenizeText(composeText(request, seed));
    const { toolName: name } = request;
    if (name === undefined) return { reasoning, tool: undefined, ...applyLimits(tokens, request) };
    const id = `call_${[0, 1].map((part) => hashText(`${seed}/${part}`).toString(16).padStart(8, '0')).join('')}`;
    return { reasoning, tool: { id, name }, tokens, finishReason: 'tool_calls' };
  });
}

function reasoningLine({ last, seed }: ModelRequest): string {
  const words = tokenizeText(last.text).length;
  return `The last message has ${words} ${pluralize(words, 'word')}; the seed is ${seed}.`;
}

function composeText({ last, minTokens, isContinuation }: ModelRequest, seed: string): string {
  const quoted = [...last.text.replace(/\s+/g, ' ').trim()].slice(0, 60).join('');
  const opening = isContinuation ? '' : `svc-local (a test model) received: ${quoted}\nRandom words:`;
  const wordCount = Math.max(DEFAULT_LENGTH_WORDS, minTokens - tokenizeText(opening).length);
  const words = Array.from({ length: wordCount }, (_, position) => wordAt(seed, position));
  return `${opening} ${words.join(' ')}.`;
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

// There are fewer words than alternatives: after these, words are numbered.
const MAX_UNNUMBERED_WORDS = 5;

interface RankedToken {
  readonly token: Token;
  readonly logprob: number;
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

// The generated token, which is always the likeliest, and others; each of them has half of the remaining probability.
function likeliestTokens(token: Token, position: number, count: number): RankedToken[] {
  const found: RankedToken[] = [{ token, logprob: tokenLogprob(token, position) }];
  const ids = new Set([token.id]);
  let remainingLogprob = Math.log(-Math.expm1(tokenLogprob(token, position)));
  for (let at = 0; found.length < count; at++) {
    const word = ` ${wordAt(`${token.text}/${position}`, at)}`;
    const other = createToken(at < MAX_UNNUMBERED_WORDS ? word : `${word}${at}`);
    if (ids.has(other.id)) continue;
    ids.add(other.id);
    remainingLogprob -= Math.LN2;
    found.push({ token: other, logprob: remainingLogprob });
  }
  return found;
}
