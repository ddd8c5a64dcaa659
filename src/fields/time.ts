const SECONDS_PER_UNIT: { readonly [unit: string]: number } = {
  ms: 0.001,
  s: 1,
  m: 60,
  h: 3600,
  d: 86_400,
  w: 604_800,
};

// Longer timers of Node fire at once.
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * A duration in milliseconds: `500ms`, `90s`, `2m`, `1h`, or a number of seconds; undefined for anything else, for 0,
 * and from 597h on, which is longer than a timer can wait.
 */
export function durationToMs(text: string): number | undefined {
  const [, count, unit = 's'] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text) ?? [];
  const milliseconds = Number(count) * (SECONDS_PER_UNIT[unit] ?? 0) * 1000;
  return milliseconds > 0 && milliseconds <= MAX_TIMER_MS ? milliseconds : undefined;
}

/** The UTC time an age (`90s`, `15m`, `12h`, `7d`, `2w`) before `now`; undefined if the text is not an age. */
export function ageToTimestamp(text: string, now: number): string | undefined {
  const [, count, unit = ''] = /^(\d+)(s|m|h|d|w)$/.exec(text) ?? [];
  const time = new Date(now - Number(count) * (SECONDS_PER_UNIT[unit] ?? 0) * 1000);
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString();
}
