import { noDeadline } from '../http/deadline.ts';
import { withDecoding } from '../http/decode.ts';
import { type After, LimitReached, usualLimits, withLimits } from '../http/limits.ts';
import { type Headers, header, type Reply, type Send } from '../http/message.ts';
import { noProgress, type Progress, withProgress } from '../http/progress.ts';
import { networkReason } from '../http/reason.ts';
import { joinUrl } from '../profiles/base-url.ts';
import { Refusal } from './refusal.ts';

/** Has a chat body answered by another server, until nobody waits for the answer any more. */
export type Upstream = (body: Uint8Array, signal: AbortSignal | undefined) => Promise<Reply>;

// What the caller may see of the other server's answer; the rest is between it and us.
const PASSED = ['content-type', 'retry-after', 'x-request-id'];

/**
 * An upstream at a base address, reached by `send` within the usual limits. The body goes on byte for byte; the caller's
 * credential never does, `token` goes instead. Throws Refusal 502 where the server cannot be reached, 504 where it is
 * silent for too long; an answer in which it falls silent is cut.
 */
export function upstreamAt(base: URL, token: string | undefined, send: Send, after: After): Upstream {
  const authorization: Headers = token ? [['Authorization', `Bearer ${token}`]] : [];
  const url = joinUrl(base, '/v1/chat/completions');
  return async (body, signal) => {
    const headers: Headers = [
      ['Content-Type', 'application/json'],
      ['Accept', 'text/event-stream, application/json'],
      ...authorization,
    ];
    const progress = noProgress();
    const limited = withProgress(progress)(withDecoding(withLimits(usualLimits, noDeadline, progress, after)(send)));
    const reply = await limited({ method: 'POST', url, headers, body, ...(signal && { signal }) }).catch((error) => {
      throw refusalOf(error, progress);
    });
    const passed = PASSED.flatMap((name) => {
      const value = header(reply.headers, name);
      return value === undefined ? [] : [[name, value] as const];
    });
    return { ...reply, headers: passed };
  };
}

function refusalOf(error: unknown, { phase }: Progress): Refusal {
  if (error instanceof LimitReached && phase !== 'nothing')
    return new Refusal(504, `the upstream server was silent for ${error.milliseconds / 1000} s`);
  return new Refusal(502, `the upstream server could not be reached: ${networkReason(error)}`);
}
