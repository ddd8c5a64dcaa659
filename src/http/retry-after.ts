import { getHeader, type Headers } from './message.ts';

/**
 * How long an answer asks to wait, in milliseconds: `retry-after-ms`, or `Retry-After` in seconds or as a date (RFC
 * 9110), which counts from the Date of the answer where it has one, because clocks differ. Undefined where it says
 * nothing that can be read; never negative.
 */
export function retryAfterMs(headers: Headers, now: number): number | undefined {
  const milliseconds = parseDecimalHeader(getHeader(headers, 'retry-after-ms'));
  if (milliseconds !== undefined) return Math.ceil(milliseconds);
  const text = getHeader(headers, 'retry-after');
  const seconds = parseDecimalHeader(text);
  if (seconds !== undefined) return Math.ceil(seconds * 1000);
  const until = parseHttpDate(text);
  return until === undefined ? undefined : Math.max(0, until - (parseHttpDate(getHeader(headers, 'date')) ?? now));
}

function parseDecimalHeader(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : undefined;
}

function parseHttpDate(text: string | undefined): number | undefined {
  // Date.parse makes a date of almost anything; those of HTTP begin with a day of the week.
  const date = /^[A-Z][a-z]+,? /.test(text ?? '') ? Date.parse(text ?? '') : Number.NaN;
  return Number.isNaN(date) ? undefined : date;
}
