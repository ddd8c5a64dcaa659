import { type Headers, header, type Reply, type Send } from '../http/message.ts';
import { networkReason } from '../http/reason.ts';
import { joinUrl } from '../profiles/base-url.ts';
import { Refusal } from './refusal.ts';

/** Has a chat body answered by another server. */
export type Upstream = (body: Uint8Array) => Promise<Reply>;

// What the caller may see of the other server's answer; the rest is between it and us.
const PASSED = ['content-type', 'retry-after', 'x-request-id'];

/**
 * An upstream at a base address, reached by `send`. The body goes on byte for byte; the caller's credential never does,
 * `token` goes instead. Throws Refusal 502 where the server cannot be reached.
 */
export function upstreamAt(base: URL, token: string | undefined, send: Send): Upstream {
  const authorization: Headers = token ? [['Authorization', `Bearer ${token}`]] : [];
  return async (body) => {
    const headers: Headers = [
      ['Content-Type', 'application/json'],
      ['Accept', 'text/event-stream, application/json'],
      ...authorization,
    ];
    const reply = await send({ method: 'POST', url: joinUrl(base, '/v1/chat/completions'), headers, body }).catch(
      (error: unknown) => {
        throw new Refusal(502, `the upstream server could not be reached: ${networkReason(error)}`);
      },
    );
    const passed = PASSED.flatMap((name) => {
      const value = header(reply.headers, name);
      return value === undefined ? [] : [[name, value] as const];
    });
    return { ...reply, headers: passed };
  };
}
