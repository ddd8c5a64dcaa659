import type { Json } from '../../json/write.ts';
import type { ModelRequest } from './request.ts';
import { bytesOf, logprobOf, type Token, tokenOf } from './tokens.ts';
import { wordAt } from './words.ts';

// There are more places to fill than words: beyond these each has a number.
const FEW = 5;

interface Likely {
  readonly token: Token;
  readonly logprob: number;
}

/** The entries of `logprobs.content` for tokens that start at `place`. */
export function logprobEntries(tokens: readonly Token[], place: number, { logprobs, tokensAsIds }: ModelRequest): Json {
  return tokens.map((token, at) => ({
    ...entry({ token, logprob: logprobOf(token, place + at) }, tokensAsIds),
    top_logprobs: likeliest(token, place + at, logprobs?.top ?? 0).map((one) => entry(one, tokensAsIds)),
  }));
}

/** The entries of `prompt_logprobs`: none for the first token, then the likeliest of each place by token id. */
export function promptEntries(tokens: readonly Token[], most: number): Json {
  return tokens.map((token, place) => {
    if (place === 0) return null;
    return Object.fromEntries(
      likeliest(token, place, Math.max(1, most)).map((one, rank) => [
        String(one.token.id),
        { logprob: one.logprob, rank: rank + 1, decoded_token: one.token.text },
      ]),
    );
  });
}

function entry({ token, logprob }: Likely, asId: boolean): { [name: string]: Json } {
  return { token: asId ? `token_id:${token.id}` : token.text, logprob, bytes: bytesOf(token) };
}

// The token itself is always the likeliest, because the model took it; each further one has half of what is left.
function likeliest(token: Token, place: number, most: number): Likely[] {
  if (most === 0) return [];
  const found: Likely[] = [{ token, logprob: logprobOf(token, place) }];
  const ids = new Set([token.id]);
  let left = Math.log(-Math.expm1(logprobOf(token, place)));
  for (let at = 0; found.length < most; at++) {
    const word = ` ${wordAt(`${token.text}/${place}`, at)}`;
    const other = tokenOf(at < FEW ? word : `${word}${at}`);
    if (ids.has(other.id)) continue;
    ids.add(other.id);
    left -= Math.LN2;
    found.push({ token: other, logprob: left });
  }
  return found;
}
