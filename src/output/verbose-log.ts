import type { Middleware } from '../http/message.ts';
import { isRateLimitHeader } from '../operations/received-facts.ts';
import { isSecretHeader, redactHeaders } from './redaction.ts';

/** Writes each request and response line by line, as `curl -v` does, with secret headers redacted. */
export function withVerboseLog(writeLine: (line: string) => Promise<void>): Middleware {
  return (next) => async (request) => {
    const url = new URL(request.url);
    await writeLine(`> ${request.method} ${url.pathname}${url.search}`);
    for (const line of redactHeaders([['Host', url.host], ...request.headers])) await writeLine(`> ${line}`);
    const { length } = request.body;
    await writeLine(length === undefined ? '> (body of unknown length)' : `> (body of ${length} bytes)`);
    const response = await next(request);
    await writeLine(`< ${response.status} ${response.statusText}`.trimEnd());
    // The tokens of a rate limit are a count.
    const isSecret = (name: string): boolean => isSecretHeader(name) && !isRateLimitHeader(name);
    for (const line of redactHeaders(response.headers, isSecret)) await writeLine(`< ${line}`);
    return response;
  };
}
