import type { Json } from '../../json/write.ts';
import { logprobEntries, promptEntries } from './details.ts';
import { type Generated, generate } from './generate.ts';
import type { ModelRequest } from './request.ts';
import { type Token, tokensOf } from './tokens.ts';

/** What all pieces of a completion share. */
export interface Identity {
  readonly id: string;
  /** Seconds since 1970. */
  readonly created: number;
}

/** The name the built-in model answers under, whatever model was asked for. */
export const modelName = 'svc-local';
const fingerprint = 'svc-local-built-in';

type Members = { readonly [name: string]: Json | undefined };

/** The chat completion of a request. */
export function completion(request: ModelRequest, identity: Identity): Json {
  const prompt = tokensOf(request.prompt);
  const replies = generate(request);
  return {
    ...heading(identity, 'chat.completion'),
    choices: replies.map((reply, index) => choice(request, reply, index)),
    usage: usage(
      prompt,
      replies.reduce((sum, { tokens }) => sum + tokens.length, 0),
    ),
    prompt_logprobs: request.promptLogprobs === undefined ? undefined : promptEntries(prompt, request.promptLogprobs),
    prompt_token_ids: request.returnsIds ? prompt.map(({ id }) => id) : undefined,
  };
}

/** The chunks of the same completion: a role for each choice, a piece for each token, a finish reason, and usage if asked for. */
export function* completionChunks(request: ModelRequest, identity: Identity): Generator<Json> {
  const prompt = tokensOf(request.prompt);
  const replies = generate(request);
  let sent = 0;
  const chunk = (choices: Json[], more: Members = {}): Json => ({
    ...heading(identity, 'chat.completion.chunk'),
    choices,
    ...(request.stream?.usageInEvery ? { usage: usage(prompt, sent) } : {}),
    ...more,
  });
  const first = request.returnsIds ? { prompt_token_ids: prompt.map(({ id }) => id) } : {};
  for (const [index, { echoed }] of replies.entries()) {
    yield chunk(
      [{ index, delta: { role: 'assistant', content: echoed }, finish_reason: null }],
      index === 0 ? first : {},
    );
  }
  for (const [index, { reasoning }] of replies.entries()) {
    if (reasoning) yield chunk([{ index, delta: { reasoning }, finish_reason: null }]);
  }
  const longest = Math.max(...replies.map(({ tokens }) => tokens.length));
  for (let place = 0; place < longest; place++) {
    for (const [index, { tokens }] of replies.entries()) {
      const token = tokens[place];
      if (!token) continue;
      sent += 1;
      yield chunk([
        { index, delta: { content: token.text }, ...tokenDetails(request, [token], place), finish_reason: null },
      ]);
    }
  }
  for (const [index, reply] of replies.entries()) yield chunk([{ index, delta: {}, ...ending(reply) }]);
  if (request.stream?.usage) yield chunk([], { usage: usage(prompt, sent) });
}

function heading({ id, created }: Identity, object: string): Members {
  return { id, object, created, model: modelName, system_fingerprint: fingerprint };
}

function choice(request: ModelRequest, reply: Generated, index: number): Json {
  const content = reply.echoed + reply.tokens.map(({ text }) => text).join('');
  const message = { role: 'assistant', content, reasoning: reply.reasoning };
  return { index, message, ...tokenDetails(request, reply.tokens, 0), ...ending(reply) };
}

function tokenDetails(request: ModelRequest, tokens: readonly Token[], place: number): Members {
  return {
    logprobs: request.logprobs ? { content: logprobEntries(tokens, place, request) } : undefined,
    token_ids: request.returnsIds ? tokens.map(({ id }) => id) : undefined,
  };
}

function ending({ finish, stopId }: Generated): Members {
  return { finish_reason: finish, stop_reason: stopId };
}

function usage(prompt: readonly Token[], generated: number): Json {
  return { prompt_tokens: prompt.length, completion_tokens: generated, total_tokens: prompt.length + generated };
}
