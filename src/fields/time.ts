const SECONDS_PER_UNIT: { readonly [unit: string]: number } = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };
// Before it, a year has no four digits.
const EARLIEST_MS = Date.parse('0000-01-01T00:00:00Z');

/** The UTC time an age (`90s`, `15m`, `12h`, `7d`, `2w`) before `now`; undefined if the text is not an age. */
export function ageToTimestamp(text: string, now: number): string | undefined {
  const [, count, unit = ''] = /^(\d+)(s|m|h|d|w)$/.exec(text) ?? [];
  const time = new Date(now - Number(count) * (SECONDS_PER_UNIT[unit] ?? 0) * 1000);
  return time.getTime() >= EARLIEST_MS ? time.toISOString() : undefined;
}
