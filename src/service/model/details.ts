import type { Json } from '../../json/write.ts';
import type { ModelRequest } from './request.ts';
import { bytesOf, logprobOf, type Token, tokenOf } from './tokens.ts';
import { wordAt } from './words.ts';

/** The entries of `logprobs.content` for tokens that start at `place`. */
export function logprobEntries(tokens: readonly Token[], place: number, { logprobs, tokensAsIds }: ModelRequest): Json {
  return tokens.map((token, at) => {
    const likeliest = alternatives(token, place + at, logprobs?.top ?? 0);
    return {
      ...entry(token, place + at, tokensAsIds),
      top_logprobs: likeliest.map((one) => entry(one, place + at, tokensAsIds)),
    };
  });
}

/** The entries of `prompt_logprobs`: none for the first token, then the likeliest of each place by token id. */
export function promptEntries(tokens: readonly Token[], most: number): Json {
  return tokens.map((token, place) => {
    if (place === 0) return null;
    const likeliest = alternatives(token, place, Math.max(1, most));
    return Object.fromEntries(
      likeliest.map((one, rank) => [
        String(one.id),
        { logprob: logprobOf(one, place), rank: rank + 1, decoded_token: one.text },
      ]),
    );
  });
}

function entry(token: Token, place: number, asId: boolean): { [name: string]: Json } {
  return { token: asId ? `token_id:${token.id}` : token.text, logprob: logprobOf(token, place), bytes: bytesOf(token) };
}

// The token itself is always the likeliest, because the model took it.
function alternatives(token: Token, place: number, most: number): Token[] {
  const others = Array.from({ length: Math.max(0, most - 1) }, (_, at) =>
    tokenOf(` ${wordAt(`${token.text}/${place}`, at)}`),
  );
  return most > 0 ? [token, ...others] : [];
}
