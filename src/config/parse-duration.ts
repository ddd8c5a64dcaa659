import { usageFailure } from '../errors.ts';

const MS_PER_UNIT: { readonly [unit: string]: number } = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

// Longer timers of Node fire at once.
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Milliseconds of `500ms`, `90s`, `2m`, `1h`, or a number of seconds. Throws usage for anything else, 0 included. */
export function parseDurationMs(sourceName: string, text: string): number {
  const [, count, unit = 's'] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text) ?? [];
  const milliseconds = Number(count) * (MS_PER_UNIT[unit] ?? 0);
  if (milliseconds > 0 && milliseconds <= MAX_TIMER_MS) return milliseconds;
  throw usageFailure(
    `${sourceName} cannot be ${JSON.stringify(text)}`,
    'write a time like 500ms, 90s, 2m or 1h, at most 596h',
  );
}

export function parseDurationOrZeroMs(sourceName: string, text: string): number {
  return /^0(?:ms|s|m|h)?$/.test(text) ? 0 : parseDurationMs(sourceName, text);
}
