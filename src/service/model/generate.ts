import { hash } from './hash.ts';
import type { ModelRequest } from './request.ts';
import { type Token, tokensOf } from './tokens.ts';
import { wordAt } from './words.ts';

/** One reply of the built-in model. */
export interface Generated {
  readonly tokens: readonly Token[];
  readonly reasoning: string | undefined;
  readonly finish: 'stop' | 'length';
  /** The token id that ended it. */
  readonly stopId: number | undefined;
  /** What stands before the tokens because the body asks for an echo. */
  readonly echoed: string;
}

// Of a reply that nothing bounds: long enough to be seen streaming, short enough to read.
const USUAL_WORDS = 12;

/** The replies to a request: made from the messages and the seed alone, so that they are the same every time. */
export function generate(request: ModelRequest): Generated[] {
  // Prompts may be long: they are read once, not once a reply.
  const origin = `${request.seed}/${hash(request.prompt)}`;
  const reasoning = request.reasons
    ? `The last message has ${tokensOf(request.last).length} words; the seed is ${request.seed}.`
    : undefined;
  const fixed = request.fixed === undefined ? undefined : tokensOf(request.fixed);
  return Array.from({ length: request.choices }, (_, index) => {
    const all = fixed ?? tokensOf(freeText(request, `${origin}/${index}`));
    return { ...bounded(all, request), reasoning, echoed: request.echo && request.lastIsReply ? request.last : '' };
  });
}

function bounded(all: readonly Token[], request: ModelRequest): Pick<Generated, 'tokens' | 'finish' | 'stopId'> {
  const ended = stopped(all, request);
  const isCut = request.most !== undefined && ended.tokens.length > request.most;
  return {
    tokens: isCut ? ended.tokens.slice(0, request.most) : ended.tokens,
    finish: isCut ? 'length' : 'stop',
    stopId: isCut ? undefined : ended.stopId,
  };
}

function freeText({ last, least, continues }: ModelRequest, seed: string): string {
  const quoted = [...last.replace(/\s+/g, ' ').trim()].slice(0, 60).join('');
  const opening = continues ? '' : `svc-local, no real model, read: ${quoted}\nIt answers:`;
  const missing = Math.max(USUAL_WORDS, least - tokensOf(opening).length);
  const words = Array.from({ length: missing }, (_, place) => wordAt(seed, place));
  return `${opening} ${words.join(' ')}.`;
}

function stopped(tokens: readonly Token[], request: ModelRequest): { tokens: Token[]; stopId: number | undefined } {
  const { stops, stopIds, least, keepsStop } = request;
  let text = '';
  // Up to here nothing stops it: what ends within the least number of tokens is none.
  let free = 0;
  for (const [at, token] of tokens.entries()) {
    text += token.text;
    if (at < least) {
      free = text.length;
      continue;
    }
    if (stopIds.includes(token.id)) return { tokens: tokens.slice(0, keepsStop ? at + 1 : at), stopId: token.id };
    const found = stops.map((stop) => ({ stop, from: text.indexOf(stop, Math.max(0, free - stop.length + 1)) }));
    const [first] = found.filter(({ from }) => from !== -1).sort((left, right) => left.from - right.from);
    if (first)
      return { tokens: tokensOf(text.slice(0, first.from + (keepsStop ? first.stop.length : 0))), stopId: undefined };
  }
  return { tokens: [...tokens], stopId: undefined };
}
