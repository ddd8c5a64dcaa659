import { Buffer } from 'node:buffer';
import type { JsonValue } from '../../json/write-json.ts';
import type { ModelRequest } from './model-request.ts';
import { createToken, type Token, tokenLogprob, wordAt } from './tokenizer.ts';

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
