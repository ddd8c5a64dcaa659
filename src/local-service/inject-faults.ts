import { createHash } from 'node:crypto';
import type { Headers, Middleware, Request, Response, Send } from '../http/message.ts';
import { abortableDelay, type StartTimer } from '../http/time-limits.ts';
import { firstStringMember } from '../json/json-node.ts';
import { tryParseJson } from '../json/parse-json.ts';
import { operationAt } from '../operations/all-operations.ts';
import type { Operation } from '../operations/operation.ts';
import { sendWithCopies } from './body-copy.ts';
import { yieldToEventLoop } from './event-loop.ts';
import { type FaultRule, matchesFaultRule } from './fault-rule.ts';
import { HttpError, httpErrorResponse, requestPath } from './responses.ts';
import type { ServiceStore } from './store/service-store.ts';

/** Thrown instead of a response: the connection is reset, as by a server that crashes. */
export class ConnectionResetError extends Error {
  override readonly name = 'ConnectionResetError';
}

/** The part of the runtime that fault rules need. */
export interface FaultClock {
  readonly after: StartTimer;
  /** Milliseconds on a monotonic clock. */
  readonly elapsed: () => number;
}

/**
 * Injects faults into the operations (`--fault`). The first rule that applies to a request decides; each rule counts the
 * requests that match it. The same rules and requests in the same order give the same faults, except for rates.
 */
export function withFaults(
  rules: readonly FaultRule[],
  clock: FaultClock,
  deleteFeedback: ServiceStore['deleteFeedback'],
): Middleware {
  const counters = rules.map(createRuleCounter);
  return (next) => async (request) => {
    const path = requestPath(request);
    const operation = operationAt(path);
    if (!operation) return next(request);
    const [chosen] = counters.flatMap((count) => count(path, request.headers, clock.elapsed()) ?? []);
    if (!chosen) return next(request);
    const respond: Send = (sent) => respondWithFault(chosen, sent, operation, next, clock);
    return chosen.rule.deletesOldFeedback
      ? deletingFirst(chosen.rule, request, respond, operation, deleteFeedback)
      : respond(request);
  };
}

async function respondWithFault(
  { rule, retryAfter }: AppliedRule,
  request: Request,
  operation: Operation,
  next: Send,
  clock: FaultClock,
): Promise<Response> {
  if (rule.delayMs > 0) await abortableDelay(rule.delayMs, clock.after, request.signal);
  if (rule.reset === 'before') throw new ConnectionResetError('reset by --fault before the request was applied');
  if (rule.status !== undefined) {
    const headers = retryAfter === undefined ? [] : [['Retry-After', retryAfter] as const];
    return httpErrorResponse(new HttpError(rule.status, 'injected by --fault', headers), operation.errors);
  }
  const response = await next(request);
  if (rule.reset === 'after') throw new ConnectionResetError('reset by --fault after the request was applied');
  if (rule.cutBytes === undefined) return response;
  return { ...response, body: cutBody(response.body, rule.cutBytes), completeBody: undefined };
}

// As a server that deletes the old record before its last checks (docs/servers.md): before a 400, 5xx or lost response.
async function deletingFirst(
  { reset }: FaultRule,
  request: Request,
  respond: Send,
  { largestBody }: Operation,
  deleteFeedback: ServiceStore['deleteFeedback'],
): Promise<Response> {
  return sendWithCopies(request, respond, largestBody, async (sent, response) => {
    const isDeleted = response ? response.status === 400 || response.status >= 500 : reset === 'before';
    const body = isDeleted ? tryParseJson(sent) : undefined;
    const [project, id] = ['project_id', 'feedback_id'].map((name) => body && firstStringMember(body, name));
    if (project !== undefined && id !== undefined) await deleteFeedback(project, id);
  });
}

/** A rule that applies to a request, with the seconds after which the request may be sent again. */
interface AppliedRule {
  readonly rule: FaultRule;
  readonly retryAfter: string | undefined;
}

// Counts the requests that match a rule; undefined for requests that it does not affect.
function createRuleCounter(rule: FaultRule): (path: string, headers: Headers, now: number) => AppliedRule | undefined {
  const { every, first, chance, seed, rate, retryAfter } = rule;
  let matched = 0;
  let windowStart = Number.NEGATIVE_INFINITY;
  let windowCount = 0;
  return (path, headers, now) => {
    if (!matchesFaultRule(rule, path, headers)) return undefined;
    matched += 1;
    if (matched % every !== 0 || matched > first) return undefined;
    if (chance < 1 && randomShare(`${seed}:${matched}`) >= chance) return undefined;
    if (!rate) return { rule, retryAfter };
    if (now >= windowStart + rate.periodMs) [windowStart, windowCount] = [now, 0];
    windowCount += 1;
    if (windowCount <= rate.count) return undefined;
    const seconds = Math.max(1, Math.ceil((windowStart + rate.periodMs - now) / 1000));
    return { rule, retryAfter: retryAfter ?? String(seconds) };
  };
}

// From 0 to below 1, the same for the same text on every machine.
function randomShare(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE(0) / 2 ** 32;
}

/** The first bytes of a body; then it throws. */
export async function* cutBody(body: Response['body'], maxBytes: number): AsyncGenerator<Uint8Array> {
  let remaining = maxBytes;
  for await (const chunk of body) {
    yield chunk.subarray(0, remaining);
    remaining -= chunk.length;
    if (remaining > 0) continue;
    // Flush the written bytes before the connection ends.
    await yieldToEventLoop(undefined);
    throw new Error(`cut by --fault after ${maxBytes} bytes`);
  }
}
