import { getMember, type JsonNode, kindOf, rawText } from '../json/json-node.ts';
import { pluralize } from '../json/pluralize.ts';
import { type JsonValue, RawJson } from '../json/write-json.ts';
import { factsFor, type ReceivedFacts, usageOf } from '../operations/received-facts.ts';
import { factText } from '../output/failure-text.ts';

export interface ExchangeTiming {
  /** Milliseconds from the start of the first attempt to the end of the response, or to the last chunk of a stream. */
  readonly totalMs: number;
  /** The same to the first chunk of a stream with output; undefined without one. */
  readonly firstTokenMs: number | undefined;
  readonly attempts: number;
  /** Undefined without a response. */
  readonly status: number | undefined;
}

/** Figures of a chat completion; null for what the response does not say. */
type ChatStats = {
  readonly prompt_tokens: RawJson | null;
  readonly completion_tokens: RawJson | null;
  readonly first_token_ms: number | null;
  readonly tokens_per_second: number | null;
  readonly ms: number;
  readonly retries: number;
  readonly [fact: string]: JsonValue;
};

/** The figures, and the facts that the response has. */
export function chatStats(
  response: JsonNode,
  { totalMs, firstTokenMs, attempts }: ExchangeTiming,
  facts: ReceivedFacts,
): ChatStats {
  const tokens = tokenCount(response, 'completion_tokens');
  const generatingMs = totalMs - (firstTokenMs ?? 0);
  return {
    prompt_tokens: tokenCount(response, 'prompt_tokens'),
    completion_tokens: tokens,
    first_token_ms: firstTokenMs === undefined ? null : Math.round(firstTokenMs),
    tokens_per_second: tokenRate(Number(tokens?.text), generatingMs),
    ms: Math.round(totalMs),
    retries: Math.max(0, attempts - 1),
    ...factsFor('stats', facts),
  };
}

export function formatChatStats(stats: ChatStats): string {
  const { prompt_tokens, completion_tokens, first_token_ms, tokens_per_second, ms, retries, ...facts } = stats;
  const [sent, received] = [prompt_tokens, completion_tokens].map((tokens) => tokens?.text);
  return [
    sent || received
      ? `${sent ?? '?'} ${pluralize(Number(sent), 'token')} in, ${received ?? '?'} out`
      : 'tokens unknown (the response has no usage)',
    ...(first_token_ms === null ? [] : [`first token after ${secondsText(first_token_ms)}`]),
    ...(tokens_per_second === null ? [] : [`${tokens_per_second} tokens/s`]),
    secondsText(ms),
    `${retries} ${pluralize(retries, 'retry', 'retries')}`,
    ...Object.entries(facts).map(([name, value]) => factText(name, value)),
  ].join(', ');
}

// Two decimals; a shorter time is not measured.
function secondsText(ms: number): string {
  return ms < 10 ? '< 0.01 s' : `${(ms / 1000).toFixed(2)} s`;
}

/** A count of the usage, with every digit; null if the response has none. */
export function tokenCount(response: JsonNode | undefined, name: string): RawJson | null {
  const count = getMember(usageOf(response), name);
  return count && kindOf(count) === 'number' ? new RawJson(rawText(count)) : null;
}

// Per second, with one decimal; null without a count that a model can have generated.
function tokenRate(tokens: number, milliseconds: number): number | null {
  const rate = Math.round((tokens / milliseconds) * 10_000) / 10;
  return Number.isFinite(rate) && tokens >= 0 && milliseconds > 0 ? rate : null;
}
