import { setFlagsFromString } from 'node:v8';
import { createDraft } from '../body/draft.ts';
import { dataDirectory } from '../config/directories.ts';
import type { Context } from '../context.ts';
import { Failure, InterruptedError, signalOfFailure, toFailure } from '../errors.ts';
import type { HttpRequest } from '../http/message.ts';
import { withRequestProgress } from '../http/request-progress.ts';
import { abortableDelay, createDeadline, type Deadline, withTimeLimits } from '../http/time-limits.ts';
import type { Transport } from '../http/transport.ts';
import { withVerboseLog } from '../http/verbose-log.ts';
import { firstStringMember, rootOf } from '../json/json-node.ts';
import { writeJson } from '../json/write-json.ts';
import type { Operation } from '../operations/operation.ts';
import type { Runtime } from '../runtime.ts';
import type { RequestOutcome } from '../train/job-history.ts';
import { type Authorization, readAuthorization } from './authorization.ts';
import { factsWithoutResponse } from './failure.ts';
import {
  type Connection,
  createRequestContext,
  isIdempotent,
  type PreparedRequest,
  prepareRequest,
  type RequestContext,
  type SendHooks,
} from './request.ts';
import { type AttemptResult, sendOnce, suspectResponseWarnings } from './send-once.ts';
import { type Destination, missingBaseUrl, type Settings } from './settings.ts';

/** Reads the credential, unless it is given, and opens a transport, which the caller closes; `isReused` for many exchanges. */
export async function connect(
  settings: Settings,
  context: Context,
  { isReused = false, authorization }: { isReused?: boolean; authorization?: Authorization | undefined } = {},
): Promise<Connection> {
  const { destination, maxRetries } = settings;
  if (!destination) throw missingBaseUrl(settings.profile);
  return {
    destination,
    authorization: authorization ?? (await readAuthorization(settings, destination, context)),
    transport: await openTransport(destination, context, isReused),
    maxRetries,
    onTrace: context.report.isVerbose ? context.report.detail : undefined,
  };
}

async function openTransport(
  destination: Destination,
  { runtime, report }: Context,
  isReused: boolean,
): Promise<Transport> {
  if (destination.isLocal) {
    const { databaseFileIn, openInProcessService } = await import('../local-service/open-local-service.ts');
    return openInProcessService(databaseFileIn(dataDirectory(runtime)), runtime, report.warn);
  }
  if (runtime.send) return { send: runtime.send, close: async () => {} };
  // The HTTP parser is WebAssembly. To optimize it takes 30 MiB and, on Node 20, half of the time of a process with a single
  // exchange, which waits for it at its end.
  if (!isReused && runtime.node.startsWith('20.')) setFlagsFromString('--liftoff-only');
  const { openHttpTransport } = await import('../http/transport.ts');
  return openHttpTransport(destination, isReused ? runtime : undefined);
}

/** A successful exchange: a complete response, or a stream of which the first chunk has arrived. */
export type Outcome = AttemptResult & {
  readonly warnings: readonly string[];
};

/**
 * The one way to send: a request with retries (docs/contract.md, section 7), whose response is classified. Prints nothing.
 * Throws the Failure of the attempt that was most likely applied. A response that breaks the interface is an outcome with a
 * failure in it.
 */
export async function send(
  context: RequestContext,
  hooks: SendHooks,
  runtime: Pick<Runtime, 'now' | 'elapsed' | 'after' | 'randomBytes'>,
): Promise<Outcome> {
  const { destination, authorization, progress } = context;
  const { headers, body } = context.request;
  const { transport, onTrace } = context.connection;
  const { signal, onStrayData, turn } = hooks;
  const request: HttpRequest = {
    method: 'POST',
    url: destination.url.href,
    headers: authorization ? [...headers, ['Authorization', authorization.value.reveal()]] : headers,
    body,
    // Set for each attempt: V8 replaces a property of a copy 20 times as fast as it adds one.
    onBodySent: undefined,
    signal,
    onStrayData,
  };
  let deadline: Deadline | undefined;
  const attempt = async (): Promise<AttemptResult> => {
    await turn?.acquire();
    let failure: Failure | undefined;
    try {
      if (!deadline) {
        await hooks.onSend?.();
        deadline = hooks.startDeadline();
      }
      const limitedSend = withTimeLimits(deadline, progress, runtime.after)(transport.send);
      const tracedSend = onTrace ? withVerboseLog(onTrace)(limitedSend) : limitedSend;
      return await sendOnce(withRequestProgress(progress)(tracedSend), request, context, hooks, runtime);
    } catch (error) {
      if (error instanceof Failure) failure = error;
      throw error;
    } finally {
      turn?.report(failure);
      // The time of the request starts when it may be sent, not while it waits for the service.
      if (failure && turn?.canWait(failure)) deadline = undefined;
    }
  };
  const remainingMs = (): number => deadline?.remainingMs() ?? Number.POSITIVE_INFINITY;
  const attempts = withRetries(attempt, context, remainingMs, hooks, runtime);
  const attemptResult = await attempts.catch(async (error: unknown) => {
    await hooks.onOutcome?.(outcomeOfFailure(error, context));
    throw error;
  });
  await hooks.onOutcome?.(outcomeOfResponse(attemptResult, context));
  return { ...attemptResult, warnings: suspectResponseWarnings(attemptResult, context) };
}

// It was applied, even if the response breaks the interface, unless an HTML page took its place.
function outcomeOfResponse({ parsedResponse }: AttemptResult, { operation }: RequestContext): RequestOutcome {
  const id = parsedResponse?.doc && firstStringMember(rootOf(parsedResponse.doc), operation.result.member);
  const { exitCode = 0, facts } = parsedResponse?.failure ?? {};
  return { applied: facts?.applied ?? 'yes', exitCode, id };
}

// If the failure does not say, its phase decides.
function outcomeOfFailure(error: unknown, sent: RequestContext): RequestOutcome {
  const { exitCode, facts } = toFailure(error);
  return { applied: facts.applied ?? factsWithoutResponse(sent).applied ?? 'unknown', exitCode, id: undefined };
}

/**
 * Makes attempts until one succeeds, none is left, the time is up, or a retry is not safe. Throws the Failure of the
 * attempt that was most likely applied, with what the last one adds: no later refusal takes back that an earlier one may
 * have been applied. For a request that only reads, it throws the last Failure.
 */
export async function withRetries<T>(
  attempt: () => Promise<T>,
  { effect, connection: { maxRetries } }: RetriedRequest,
  remainingMs: () => number,
  { signal, waitSignal = signal, turn, onRetry }: Pick<SendHooks, 'signal' | 'waitSignal' | 'turn' | 'onRetry'>,
  { after, randomBytes }: Pick<Runtime, 'after' | 'randomBytes'>,
): Promise<T> {
  let worst: Failure | undefined;
  let failedAttempts = 0;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      if (turn?.canWait(error)) continue;
      failedAttempts += 1;
      worst = moreLikelyApplied(worst, error);
      const isLast = failedAttempts > maxRetries || !isRetryable(effect, error) || turn?.canRetry(error) === false;
      const delayMs = isLast ? 0 : retryDelayMs(failedAttempts, error, (randomBytes(1)[0] ?? 0) / 255);
      if (isLast || delayMs >= remainingMs()) throw combineFailures(worst, error, effect);
      const { message, facts } = error;
      const wait = delayMs < 100 ? '' : ` in ${(delayMs / 1000).toFixed(1)} s`;
      await onRetry?.(`${facts.summary ?? message}; retrying${wait} (${failedAttempts} of ${maxRetries})`);
      try {
        await abortableDelay(delayMs, after, waitSignal);
      } catch (reason) {
        if (!(reason instanceof InterruptedError)) throw reason;
        // A batch that stops sends no signal to the process: the failure of the attempts is the outcome.
        const isOutcome = !signal.aborted && effect !== 'read' && appliedRankOf(worst) > 0;
        throw combineFailures(worst, isOutcome ? error : interruptionFailure(reason, failedAttempts), effect);
      }
    }
  }
}

interface RetriedRequest extends Pick<Operation, 'effect'> {
  readonly connection: Pick<Connection, 'maxRetries'>;
}

const appliedRank = { no: 0, unknown: 1, yes: 2 } as const;

function appliedRankOf({ facts: { applied = 'no' } }: Failure): number {
  return appliedRank[applied];
}

// The last of equals.
function moreLikelyApplied(worst: Failure | undefined, last: Failure): Failure {
  return worst && appliedRankOf(worst) > appliedRankOf(last) ? worst : last;
}

function combineFailures(worst: Failure, last: Failure, effect: Operation['effect']): Failure {
  if (effect === 'read' || moreLikelyApplied(worst, last) === last) return last;
  const { attempts, issues, hint, retryAfter } = last.facts;
  // A request to end the process is reported first.
  if (signalOfFailure(last.code))
    return new Failure(last.code, `${last.code}; before that: ${worst.message}`, { ...worst.facts, attempts });
  const hints = [worst.facts.hint, hint].filter((text) => text !== undefined);
  const facts = { attempts, issues, retryAfter, hint: hints.length > 0 ? hints.join('; ') : undefined };
  return worst.with(facts, `${worst.message}; the last attempt: ${last.message}`);
}

function interruptionFailure({ code, message }: InterruptedError, attempts: number): Failure {
  return new Failure(code, `${message}; nothing was applied`, { applied: 'no', attempts });
}

// A longer wait is not a transient shortage (docs/servers.md): svc reports when to retry instead.
const MAX_RETRY_AFTER_MS = 60_000;

const INITIAL_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 20_000;

// Decided by the effect of the operation and by what is known about the attempt, never by the name of an error
// (docs/contract.md, section 7).
function isRetryable(effect: Operation['effect'], { code, facts }: Failure): boolean {
  const { status, phase, isPermanent, isTruncated, retryAfter = 0 } = facts;
  if (isPermanent || retryAfter > MAX_RETRY_AFTER_MS) return false;
  const isSafe = isIdempotent(effect);
  if (status === undefined) return phase === 'nothing' || (isSafe && phase !== undefined);
  if (effect === 'once') return status === 429;
  return code === 'rate_limited' || (isSafe && (isTruncated === true || (status >= 500 && status !== 501)));
}

/** The wait for a retry: never less than the service asked for, and up to a bound that doubles from 250 ms to 20 s. */
export function retryDelayMs(retryNumber: number, { facts: { retryAfter = 0 } }: Failure, random: number): number {
  const boundMs = Math.min(MAX_BACKOFF_MS, INITIAL_BACKOFF_MS * 2 ** (retryNumber - 1));
  return retryAfter + Math.round(random * boundMs);
}

/** Sends one request over a connection of its own; that of a stream is closed by the end of the process. */
export async function sendAlone(
  request: PreparedRequest,
  settings: Settings,
  context: Context,
  { authorization, ...hooks }: Partial<SendHooks> & { readonly authorization?: Authorization | undefined } = {},
): Promise<Outcome> {
  const { runtime, signal } = context;
  const deadline = createDeadline(settings.timeoutMs, runtime);
  const connection = await connect(settings, context, { authorization });
  let isStream = false;
  try {
    const requestContext = createRequestContext(request, connection);
    const outcome = await send(requestContext, { signal, startDeadline: () => deadline, ...hooks }, runtime);
    isStream = outcome.chunks !== undefined;
    return outcome;
  } finally {
    if (!isStream) await connection.transport.close();
  }
}

/** As sendAlone, for a JSON body that svc made itself. Returns the warnings, and throws also the Failure of an invalid response. */
export async function sendJson(
  body: string,
  settings: Settings,
  context: Context,
  authorization?: Authorization,
): Promise<Outcome> {
  const request = prepareRequest(settings, createDraft(body));
  const outcome = await sendAlone(request, settings, context, { authorization });
  if (outcome.parsedResponse?.failure) throw outcome.parsedResponse.failure;
  return outcome;
}

const MAX_PROBE_TIMEOUT_MS = 30_000;
const PROBE_WINDOW_MS = 60_000;

/**
 * Requests the schema of one feedback payload of the last minute, which changes nothing and costs nothing, and returns the
 * status of the response. `settings` are those of the operation. Throws the Failure of anything but a valid response, without
 * retries and within 30 s, or within the time limit of the settings if that is less.
 */
export async function probeFeedbackSchema(projectId: string, settings: Settings, context: Context): Promise<number> {
  const now = context.runtime.now();
  const [start, end] = [now - PROBE_WINDOW_MS, now].map((time) => new Date(time).toISOString());
  const body = writeJson({ project_id: projectId, start, end, sample_limit: 1 });
  const timeoutMs = Math.min(settings.timeoutMs ?? MAX_PROBE_TIMEOUT_MS, MAX_PROBE_TIMEOUT_MS);
  const { response } = await sendJson(body, { ...settings, timeoutMs, maxRetries: 0 }, context);
  return response.status;
}
