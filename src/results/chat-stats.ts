import { type JsonValue, RawJson, writeJson } from '../json/write-json.ts';
import { factsFor, type ReceivedFacts } from '../operations/received-facts.ts';
import { factText } from '../output/failure-text.ts';
import { pluralize } from '../output/transfer-text.ts';

export interface ExchangeTiming {
  /** Milliseconds from the start of the first attempt to the end of the response, or to the last chunk of a stream. */
  readonly totalMs: number;
  /** The same to the first chunk of a stream with output; undefined without one. */
  readonly firstTokenMs: number | undefined;
  readonly attempts: number;
  /** Undefined without a response. */
  readonly status: number | undefined;
}

/** Figures of a chat completion, and the facts that the response has; null for what it does not say. */
export function chatStats({ totalMs, firstTokenMs, attempts }: ExchangeTiming, facts: ReceivedFacts) {
  const { prompt_tokens = null, completion_tokens = null, ...others } = factsFor('stats', facts);
  const generatingMs = totalMs - (firstTokenMs ?? 0);
  return {
    prompt_tokens,
    completion_tokens,
    first_token_ms: firstTokenMs === undefined ? null : Math.round(firstTokenMs),
    tokens_per_second: tokenRate(
      completion_tokens instanceof RawJson ? Number(completion_tokens.text) : Number.NaN,
      generatingMs,
    ),
    ms: Math.round(totalMs),
    retries: Math.max(0, attempts - 1),
    ...others,
  };
}

export function formatChatStats(stats: ReturnType<typeof chatStats>): string {
  const { prompt_tokens, completion_tokens, first_token_ms, tokens_per_second, ms, retries, ...facts } = stats;
  const texts = [prompt_tokens, completion_tokens].map((tokens) => (tokens === null ? undefined : writeJson(tokens)));
  const [sent, received] = texts;
  return [
    sent || received
      ? `${sent ?? '?'} ${pluralize(Number(sent), 'token')} in, ${received ?? '?'} out`
      : 'tokens unknown (the response has no usage)',
    ...(first_token_ms === null ? [] : [`first token after ${secondsText(first_token_ms)}`]),
    ...(tokens_per_second === null ? [] : [`${tokens_per_second} tokens/s`]),
    secondsText(ms),
    `${retries} ${pluralize(retries, 'retry', 'retries')}`,
    ...Object.entries<JsonValue>(facts).map(([name, value]) => factText(name, value)),
  ].join(', ');
}

// Two decimals; a shorter time is not measured.
function secondsText(ms: number): string {
  return ms < 10 ? '< 0.01 s' : `${(ms / 1000).toFixed(2)} s`;
}

// Per second, with one decimal; null without a count that a model can have generated.
function tokenRate(tokens: number, milliseconds: number): number | null {
  const rate = Math.round((tokens / milliseconds) * 10_000) / 10;
  return Number.isFinite(rate) && tokens >= 0 && milliseconds > 0 ? rate : null;
}
