import { placeInDraft } from '../body/draft.ts';
import { Failure, type FailureCode, type FailureFacts, Interrupted } from '../errors.ts';
import { collectStart } from '../http/collect.ts';
import { LimitReached } from '../http/limits.ts';
import { header, type Reply } from '../http/message.ts';
import { networkReason } from '../http/reason.ts';
import { requestId } from '../http/trace.ts';
import { formatPath } from '../json/path.ts';
import { repeatAdvice } from './effect.ts';
import type { Sent } from './sent.ts';
import { errorBytes, readServiceError } from './service-error.ts';
import { verdictOf } from './verdict.ts';

/** The failure of an exchange that brought no answer: decided by how far the request had come, never by the error's name. */
export function failureOfError(error: unknown, sent: Sent): Failure {
  if (error instanceof Failure) return error;
  const { progress, ids, effect } = sent;
  const isSent = progress.phase === 'all';
  const applied = isSent ? 'unknown' : 'no';
  const facts: FailureFacts = {
    applied,
    attempts: 1,
    ids: isSent ? ids : {},
    hint: isSent ? repeatAdvice(effect) : undefined,
  };
  if (error instanceof Interrupted) {
    return new Failure(
      error.code,
      `${error.message}; ${isSent ? 'the request had been sent' : 'nothing was applied'}`,
      facts,
    );
  }
  const reason = error instanceof LimitReached ? limitReason(error) : networkReason(error);
  if (progress.phase === 'nothing')
    return new Failure('unreachable', `the service could not be reached: ${reason}`, facts);
  if (!isSent) return new Failure('unreachable', `the request did not leave completely: ${reason}`, facts);
  return new Failure('unknown', `the request was sent, but no answer came: ${reason}`, facts);
}

/** The failure of an answer whose status is not 2xx, with what the service said about it. */
export async function failureOfStatus(reply: Reply, sent: Sent): Promise<Failure> {
  const { status, statusText, headers } = reply;
  const retryAfter = header(headers, 'retry-after');
  const { code = 'refused', applied } = verdictOf(status, retryAfter !== undefined);
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
      attempts: 1,
      ids: applied === 'unknown' ? sent.ids : {},
      issues: said.issues.map(({ path, message }) => ({
        path: formatPath(path),
        at: placeInDraft(sent.draft, path),
        message,
      })),
      hint: hintFor(code, sent, retryAfter, location),
    },
  );
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
  retryAfter: string | undefined,
  location: string | undefined,
): string | undefined {
  if (code === 'credentials') return 'svc auth status shows which credentials are used';
  if (code === 'limited') return retryAfter ? `try again later; the service says: ${retryAfter}` : 'try again later';
  if (code === 'failed' || code === 'unknown') return repeatAdvice(effect);
  return location ? 'if that is the service, make it the base address' : undefined;
}

function limitReason({ limit, milliseconds }: LimitReached): string {
  const seconds = `${milliseconds / 1000} s`;
  switch (limit) {
    case 'connect':
      return `no connection within ${seconds}`;
    case 'total':
      return `the time limit of ${seconds} was reached (--timeout sets it)`;
    case 'firstByte':
    case 'idle':
      return `silence for ${seconds}`;
  }
}
