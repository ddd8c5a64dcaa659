import { getHeader, type Headers } from './message.ts';

// A server may send any number of headers.
const MAX_RATE_LIMIT_HEADERS = 20;

/** The headers of a response about rate limits, by their lower-case names; undefined if it has none. */
export function rateLimitHeaders(headers: Headers): { readonly [name: string]: string } | undefined {
  const found = headers
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .filter(([name]) => isRateLimitHeader(name))
    .slice(0, MAX_RATE_LIMIT_HEADERS);
  return found.length === 0 ? undefined : Object.fromEntries(found);
}

/** True for a header of a response about rate limits. */
export function isRateLimitHeader(name: string): boolean {
  return /^(x-)?ratelimit|^retry-after/i.test(name);
}

/** The id a service gave a response, by the headers in use for it. */
export function responseRequestId(headers: Headers): string | undefined {
  return (
    getHeader(headers, 'x-request-id') ?? getHeader(headers, 'request-id') ?? getHeader(headers, 'x-correlation-id')
  );
}
