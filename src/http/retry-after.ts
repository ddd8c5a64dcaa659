import { getHeader, type HttpHeaders } from './message.ts';

/**
 * How long a response asks to wait, in milliseconds: the largest of all forms of `retry-after-ms` and `Retry-After`
 * (seconds or a date, RFC 9110; several headers and lists count too). A date counts from the `Date` of the response if it
 * has one, because clocks differ. Undefined if no form can be read; never negative.
 */
export function retryAfterMs(headers: HttpHeaders, now: number): number | undefined {
  const sentAt = parseHttpDate(getHeader(headers, 'date')?.trim() ?? '') ?? now;
  const waits = headers.flatMap(([name, value]) => {
    const unitMs = retryAfterUnitsMs.get(name.toLowerCase());
    // The comma of a date is followed by a day and a month.
    const items = unitMs === undefined ? [] : value.split(/,(?!\s*\d\d?[ -][A-Z])/).map((item) => item.trim());
    return items.flatMap((item) => {
      if (/^\d+(?:\.\d+)?$/.test(item)) return Math.ceil(Number(item) * (unitMs ?? 0));
      const until = parseHttpDate(item);
      return until === undefined ? [] : Math.max(0, until - sentAt);
    });
  });
  return waits.length === 0 ? undefined : Math.max(...waits);
}

/** True for a response that asks to wait, even if the time cannot be read. */
export function hasRetryAfter(headers: HttpHeaders): boolean {
  return headers.some(([name]) => retryAfterUnitsMs.has(name.toLowerCase()));
}

const retryAfterUnitsMs: ReadonlyMap<string, number> = new Map([
  ['retry-after-ms', 1],
  ['retry-after', 1000],
]);

function parseHttpDate(text: string): number | undefined {
  // Date.parse accepts almost anything; dates of HTTP begin with a day of the week.
  const date = /^[A-Z][a-z]+,? /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : date;
}
