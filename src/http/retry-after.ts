import { type Headers, header } from './message.ts';

/**
 * How long an answer asks to wait, in milliseconds: `retry-after-ms`, or `Retry-After` in seconds or as a date (RFC
 * 9110), which counts from the Date of the answer where it has one, because clocks differ. Undefined where it says
 * nothing that can be read; never negative.
 */
export function retryAfter(headers: Headers, now: number): number | undefined {
  const milliseconds = numberOf(header(headers, 'retry-after-ms'));
  if (milliseconds !== undefined) return Math.ceil(milliseconds);
  const text = header(headers, 'retry-after');
  const seconds = numberOf(text);
  if (seconds !== undefined) return Math.ceil(seconds * 1000);
  const until = dateOf(text);
  return until === undefined ? undefined : Math.max(0, until - (dateOf(header(headers, 'date')) ?? now));
}

function numberOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : undefined;
}

function dateOf(text: string | undefined): number | undefined {
  // Date.parse makes a date of almost anything; those of HTTP begin with a day of the week.
  const date = /^[A-Z][a-z]+,? /.test(text ?? '') ? Date.parse(text ?? '') : Number.NaN;
  return Number.isNaN(date) ? undefined : date;
}
