const SECONDS: { readonly [unit: string]: number } = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };

// What a timer of Node can wait; beyond it, it would fire at once.
const LONGEST = 2 ** 31 - 1;

/**
 * A duration in milliseconds: `90s`, `2m`, `1h`, or a number of seconds; undefined for anything else, for 0, and from
 * 597h on, for which no timer waits.
 */
export function durationOf(text: string): number | undefined {
  const [, count, unit = 's'] = /^(\d+(?:\.\d+)?)(s|m|h)?$/.exec(text) ?? [];
  const milliseconds = Number(count) * (SECONDS[unit] ?? 0) * 1000;
  return milliseconds > 0 && milliseconds <= LONGEST ? milliseconds : undefined;
}

/** The UTC time that lies an age (`90s`, `15m`, `12h`, `7d`, `2w`) before `now`; undefined for what is no age. */
export function timeAgo(text: string, now: number): string | undefined {
  const [, count, unit = ''] = /^(\d+)(s|m|h|d|w)$/.exec(text) ?? [];
  const at = new Date(now - Number(count) * (SECONDS[unit] ?? 0) * 1000);
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}
