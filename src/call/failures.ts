import { placeInDraft } from '../body/draft.ts';
import { Failure, type FailureCode, type FailureFacts, Interrupted } from '../errors.ts';
import { collectStart } from '../http/collect.ts';
import { LimitReached } from '../http/limits.ts';
import { header, type Reply } from '../http/message.ts';
import { isLastingReason, networkReason } from '../http/reason.ts';
import { retryAfter } from '../http/retry-after.ts';
import { requestId } from '../http/trace.ts';
import { formatPath, type Path } from '../json/path.ts';
import { repeatAdvice } from './effect.ts';
import type { Sent } from './sent.ts';
import { errorBytes, readServiceError } from './service-error.ts';
import { verdictOf } from './verdict.ts';

/** The failure of an exchange that brought no answer: decided by how far the request had come, never by the error's name. */
export function failureOfError(error: unknown, sent: Sent): Failure {
  if (error instanceof Failure) return error;
  const { phase, sent: bytes } = sent.progress;
  const isSent = phase === 'all';
  if (error instanceof Interrupted) {
    const outcome = isSent ? 'the request had been sent' : 'nothing was applied';
    // Who asked the process to end does not want it to try again.
    return new Failure(error.code, `${error.message}; ${outcome}`, { ...factsSoFar(sent), isLasting: true });
  }
  const facts: FailureFacts = { ...factsSoFar(sent), isLasting: isLastingReason(error) };
  const reason = reasonOf(error);
  if (phase === 'nothing') return new Failure('unreachable', `the service could not be reached: ${reason}`, facts);
  if (!isSent)
    return new Failure('unreachable', `the request did not leave completely (${bytes} bytes): ${reason}`, facts);
  return new Failure('unknown', `the request was sent (${bytes} bytes), but no answer came: ${reason}`, facts);
}

/** What is known of a request of which no answer has come. */
export function factsSoFar({ progress, ids, effect }: Sent): FailureFacts {
  const { phase, sent: bytesSent, attempts } = progress;
  const isSent = phase === 'all';
  return {
    applied: isSent ? 'unknown' : 'no',
    phase,
    bytesSent,
    attempts,
    ids: isSent ? ids : {},
    hint: isSent ? repeatAdvice(effect) : undefined,
  };
}

/** The failure of an answer whose status is not 2xx, with what the service said about it. `now` is in milliseconds since 1970. */
export async function failureOfStatus(reply: Reply, sent: Sent, now: number): Promise<Failure> {
  const { status, statusText, headers } = reply;
  const { phase, sent: bytesSent, attempts } = sent.progress;
  const wait = retryAfter(headers, now);
  const { code = 'refused', applied } = verdictOf(status, header(headers, 'retry-after') !== undefined);
  const said = readServiceError(await collectStart(reply.body, errorBytes));
  const location = status >= 300 && status < 400 ? header(headers, 'location') : undefined;
  const words = location ? `it redirects to ${location}, and redirects are not followed` : said.message;
  return new Failure(
    code,
    [`${opening[code] ?? 'the service refused it'} (${`${status} ${statusText}`.trim()})`, words]
      .filter(Boolean)
      .join(': '),
    {
      status,
      requestId: requestId(headers),
      applied,
      phase,
      bytesSent,
      attempts,
      retryAfter: wait,
      // A used up quota does not come back in a minute (SERVERS.md).
      isLasting: code === 'limited' && /quota/i.test(said.message ?? ''),
      ids: applied === 'unknown' ? sent.ids : {},
      issues: said.issues.map(({ path, message }) => ({
        path: formatPath(path),
        at: isOfBody(path, sent) ? placeInDraft(sent.draft, path) : '',
        message,
      })),
      hint: hintFor(code, sent, location, wait === undefined ? undefined : { wait, now }),
    },
  );
}

/** Why an exchange ended without its answer, in words. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof LimitReached)) return networkReason(error);
  const seconds = `${error.milliseconds / 1000} s`;
  switch (error.limit) {
    case 'connect':
      return `no connection within ${seconds}`;
    case 'total':
      return `the time limit of ${seconds} was reached (--timeout sets it)`;
    case 'firstByte':
    case 'idle':
      return `silence for ${seconds}`;
  }
}

// A service may also speak of headers, of queries, or of members that only it knows.
function isOfBody([first]: Path, { operation }: Sent): boolean {
  return typeof first === 'string' && Object.hasOwn(operation.body, first);
}

const opening: { readonly [code in FailureCode]?: string } = {
  credentials: 'the service refused the credentials',
  limited: 'the service is busy',
  failed: 'the service failed',
  unknown: 'no answer came from behind the gateway',
};

function hintFor(
  code: FailureCode,
  { effect }: Sent,
  location: string | undefined,
  asked: { wait: number; now: number } | undefined,
): string | undefined {
  if (code === 'credentials') return 'svc auth status shows which credentials are used';
  if (code === 'limited') return asked ? whenAgain(asked.wait, asked.now) : 'try again later';
  if (code === 'failed' || code === 'unknown') return repeatAdvice(effect);
  return location ? 'if that is the service, make it the base address' : undefined;
}

// The latest time a Date can hold; a server may ask for any wait.
const LATEST = 8.64e15;

function whenAgain(wait: number, now: number): string {
  const then = new Date(Math.min(now + wait, LATEST)).toISOString().replace(/\.\d+Z$/, 'Z');
  return `the service asks to wait ${Math.ceil(wait / 1000)} s: try again after ${then}`;
}
