import { getHeader, type Headers } from './message.ts';

/**
 * How long a response asks to wait, in milliseconds: the largest of all forms of `retry-after-ms` and `Retry-After`
 * (seconds or a date, RFC 9110; several headers and lists count too). A date counts from the `Date` of the response if it
 * has one, because clocks differ. Undefined if no form can be read; never negative.
 */
export function retryAfterMs(headers: Headers, now: number): number | undefined {
  const sentAt = parseHttpDate(getHeader(headers, 'date')?.trim() ?? '') ?? now;
  const waits = headers.flatMap(([name, value]) => {
    switch (name.toLowerCase()) {
      case 'retry-after-ms':
        return splitList(value).map((item) => parseMilliseconds(item, 1));
      case 'retry-after':
        return splitList(value).map((item) => parseMilliseconds(item, 1000) ?? untilDate(item, sentAt));
      default:
        return [];
    }
  });
  const known = waits.filter((wait) => wait !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}

// The comma of a date is followed by a day and a month.
function splitList(value: string): string[] {
  return value.split(/,(?!\s*\d\d?[ -][A-Z])/).map((item) => item.trim());
}

function parseMilliseconds(text: string, unitMs: number): number | undefined {
  return /^\d+(?:\.\d+)?$/.test(text) ? Math.ceil(Number(text) * unitMs) : undefined;
}

function untilDate(text: string, sentAt: number): number | undefined {
  const until = parseHttpDate(text);
  return until === undefined ? undefined : Math.max(0, until - sentAt);
}

function parseHttpDate(text: string): number | undefined {
  // Date.parse accepts almost anything; dates of HTTP begin with a day of the week.
  const date = /^[A-Z][a-z]+,? /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : date;
}
