import { createHash } from 'node:crypto';
import { parseDurationMs } from '../config/setting-kinds.ts';
import { usageFailure } from '../errors.ts';
import { joinWithOr } from '../fields/closest-match.ts';
import {
  getHeader,
  type HttpHeaders,
  type HttpRequest,
  type HttpResponse,
  type Middleware,
  type Send,
} from '../http/message.ts';
import { abortableDelay, type StartTimer } from '../http/time-limits.ts';
import { firstStringMember } from '../json/json-node.ts';
import { tryParseJson } from '../json/parse-json.ts';
import { allOperations, operationAt } from '../operations/all-operations.ts';
import { feedbackReplaceOperation } from '../operations/feedback-replace.ts';
import type { Operation } from '../operations/operation.ts';
import { sendWithCopies } from './body-copy.ts';
import { yieldToEventLoop } from './event-loop.ts';
import { HttpError, httpErrorResponse, requestPath } from './responses.ts';

/** Thrown instead of a response: the connection is reset, as by a server that crashes. */
export class ConnectionResetError extends Error {
  override readonly name = 'ConnectionResetError';
}

interface FaultClock {
  readonly after: StartTimer;
  readonly elapsed: () => number;
}

/**
 * Injects faults into the operations (`--fault`). The first rule that applies to a request decides; each rule counts the
 * requests that match it. The same rules and requests in the same order give the same faults, except for rates.
 */
export function withFaults(
  rules: readonly FaultRule[],
  clock: FaultClock,
  deleteFeedback: (project: string, id: string) => Promise<void>,
): Middleware {
  const counters = rules.map(createRuleCounter);
  return (next) => async (request) => {
    const path = requestPath(request);
    const operation = operationAt(path);
    if (!operation) return next(request);
    const [rule] = counters.flatMap((count) => count(path, request.headers, clock.elapsed()) ?? []);
    if (!rule) return next(request);
    const respond: Send = (sent) => respondWithFault(rule, sent, operation, next, clock);
    if (!rule.deletesOldFeedback) return respond(request);
    // As a server that deletes the old record before its last checks (docs/servers.md): before a 400, 5xx or lost response.
    return sendWithCopies(request, respond, operation.largestBody, async (sent, response) => {
      const isDeleted = response ? response.status === 400 || response.status >= 500 : rule.reset === 'before';
      const body = isDeleted ? tryParseJson(sent) : undefined;
      const [project, id] = ['project_id', 'feedback_id'].map((name) => body && firstStringMember(body, name));
      if (project !== undefined && id !== undefined) await deleteFeedback(project, id);
    });
  };
}

async function respondWithFault(
  rule: FaultRule,
  request: HttpRequest,
  operation: Operation,
  next: Send,
  clock: FaultClock,
): Promise<HttpResponse> {
  if (rule.delayMs > 0) await abortableDelay(rule.delayMs, clock.after, request.signal);
  if (rule.reset === 'before') throw new ConnectionResetError('reset by --fault before the request was applied');
  if (rule.status !== undefined) {
    const headers = rule.retryAfter === undefined ? [] : [['Retry-After', rule.retryAfter] as const];
    return httpErrorResponse(new HttpError(rule.status, 'injected by --fault', headers), operation.errors);
  }
  const response = await next(request);
  if (rule.reset === 'after') throw new ConnectionResetError('reset by --fault after the request was applied');
  if (rule.cutBytes === undefined) return response;
  return { ...response, body: cutBody(response.body, rule.cutBytes), completeBody: undefined };
}

// Counts the requests that match a rule; undefined for requests that it does not affect.
function createRuleCounter(
  rule: FaultRule,
): (path: string, headers: HttpHeaders, now: number) => FaultRule | undefined {
  const { every, first, chance, seed, rate, retryAfter } = rule;
  let matched = 0;
  let windowStart = Number.NEGATIVE_INFINITY;
  let windowCount = 0;
  return (path, headers, now) => {
    if (!matchesFaultRule(rule, path, headers)) return undefined;
    matched += 1;
    if (matched % every !== 0 || matched > first) return undefined;
    if (chance < 1 && randomShare(`${seed}:${matched}`) >= chance) return undefined;
    if (!rate) return rule;
    if (now >= windowStart + rate.periodMs) [windowStart, windowCount] = [now, 0];
    windowCount += 1;
    if (windowCount <= rate.count) return undefined;
    const seconds = Math.max(1, Math.ceil((windowStart + rate.periodMs - now) / 1000));
    return { ...rule, retryAfter: retryAfter ?? String(seconds) };
  };
}

// From 0 to below 1, the same for the same text on every machine.
function randomShare(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE(0) / 2 ** 32;
}

export async function* cutBody(body: HttpResponse['body'], maxBytes: number): AsyncGenerator<Uint8Array> {
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

/** A rule of `--fault`: which requests it matches, and what happens to them. */
interface FaultRule {
  readonly path: string | undefined;
  readonly header: { readonly name: string; readonly value: string | undefined } | undefined;
  /** Of the matching requests every nth, only the first ones, and a share of them. */
  readonly every: number;
  readonly first: number;
  readonly chance: number;
  readonly seed: string;
  /** A maximum number of requests per period; only requests above it are affected. */
  readonly rate: { readonly count: number; readonly periodMs: number } | undefined;
  readonly status: number | undefined;
  readonly retryAfter: string | undefined;
  readonly delayMs: number;
  readonly cutBytes: number | undefined;
  readonly reset: 'before' | 'after' | undefined;
  /** A feedback replacement that fails with 400, 5xx or a reset deletes the old record all the same. */
  readonly deletesOldFeedback: boolean;
}

const EXAMPLE = 'for example operation=chat,every=3,status=503,retry-after=2';
const RATE_LIMITED_STATUS = 429;

/** Parses a rule such as `operation=chat,every=3,status=503,retry-after=2`. Throws Failure `usage`. */
export function parseFaultRule(text: string): FaultRule {
  const fields = new Map<string, string>();
  for (const part of text.split(',')) {
    const [, name = '', value = ''] = /^\s*([^=\s]*)\s*(?:=(.*))?$/s.exec(part) ?? [];
    const key = faultKeys.get(name);
    if (!key || fields.has(name)) {
      const names = Array.from(faultKeys.keys(), (known) => `${known}=`).join(' ');
      throw faultFailure(part.trim(), `use each of these once: ${names}; ${EXAMPLE}`);
    }
    if (!key.pattern.test(value)) throw faultFailure(part.trim(), key.hint);
    fields.set(name, value);
  }
  const number = (name: string): number | undefined => (fields.has(name) ? Number(fields.get(name)) : undefined);
  const [count, period = ''] = fields.get('rate')?.split('/') ?? [];
  const [delay, reset] = [fields.get('delay'), fields.get('reset')];
  const rate = count ? { count: Number(count), periodMs: parseDurationMs('--fault rate', period) } : undefined;
  const rule: FaultRule = {
    path: operationPath(fields.get('operation')),
    header: parseHeader(fields.get('header')),
    every: number('every') ?? 1,
    first: number('first') ?? Number.POSITIVE_INFINITY,
    chance: number('chance') ?? 1,
    seed: fields.get('seed') ?? '0',
    rate,
    status: number('status') ?? (rate ? RATE_LIMITED_STATUS : undefined),
    retryAfter: fields.get('retry-after'),
    delayMs: delay === undefined ? 0 : parseDurationMs('--fault delay', delay),
    cutBytes: number('cut'),
    reset: reset === 'before' || reset === 'after' ? reset : undefined,
    deletesOldFeedback: fields.has('delete'),
  };
  const effects = [rule.status, rule.cutBytes, rule.reset].filter((effect) => effect !== undefined).length;
  if (effects > 1) throw faultFailure(text, 'a rule has one of status, cut and reset; give --fault again for another');
  if (rule.retryAfter !== undefined && rule.status === undefined)
    throw faultFailure(`retry-after=${rule.retryAfter}`, `it needs status= or rate=; ${EXAMPLE}`);
  if (rule.deletesOldFeedback && rule.path !== feedbackReplaceOperation.path)
    throw faultFailure('delete=old', 'it needs operation=feedback-replace');
  if (effects === 0 && rule.delayMs === 0 && !rule.deletesOldFeedback)
    throw faultFailure(text, `add status=, delay=, cut=, reset= or delete=; ${EXAMPLE}`);
  return rule;
}

/** True for requests that a rule is about, before they are counted. */
function matchesFaultRule({ path, header }: FaultRule, requestPath: string, headers: HttpHeaders): boolean {
  if (path !== undefined && path !== requestPath) return false;
  if (!header) return true;
  const value = getHeader(headers, header.name);
  return header.value === undefined ? value !== undefined : value === header.value;
}

const OPERATION_HINT = `use ${joinWithOr(allOperations.map(operationName))}`;

const faultKeys: ReadonlyMap<string, { readonly pattern: RegExp; readonly hint: string }> = new Map([
  ['operation', { pattern: /./, hint: OPERATION_HINT }],
  ['header', { pattern: /^[^:]+/, hint: 'use header=name or header=name:value' }],
  ['every', { pattern: /^[1-9]\d*$/, hint: 'use a number from 1, for every nth matching request' }],
  ['first', { pattern: /^[1-9]\d*$/, hint: 'use a number from 1, for only the first n matching requests' }],
  [
    'chance',
    { pattern: /^(0?\.\d+|0|1(\.0+)?)$/, hint: 'use a number from 0 to 1, for a share of the matching requests' },
  ],
  ['seed', { pattern: /./, hint: 'use any text; the same seed chooses the same requests' }],
  ['rate', { pattern: /^[1-9]\d*\/[^/]+$/, hint: 'use a number of requests and a time, such as rate=5/10s' }],
  ['status', { pattern: /^[45]\d\d$/, hint: 'use a status from 400 to 599' }],
  ['retry-after', { pattern: /^\d+$/, hint: 'use a number of seconds' }],
  ['delay', { pattern: /./, hint: 'use a time, such as delay=0.2s' }],
  ['cut', { pattern: /^\d+$/, hint: 'use a number of bytes of the response body' }],
  ['delete', { pattern: /^old$/, hint: 'use delete=old' }],
  ['reset', { pattern: /^(before|after)$/, hint: 'use reset=before or reset=after' }],
]);

function operationName({ command }: { readonly command: readonly string[] }): string {
  return command.join('-');
}

function operationPath(name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  const operation = allOperations.find((candidate) => candidate.path === name || operationName(candidate) === name);
  if (!operation) throw faultFailure(`operation=${name}`, OPERATION_HINT);
  return operation.path;
}

function parseHeader(text: string | undefined): FaultRule['header'] {
  if (text === undefined) return undefined;
  const [, name = '', value] = /^([^:]+)(?::\s*(.*))?$/s.exec(text) ?? [];
  return { name, value };
}

function faultFailure(part: string, hint: string): Error {
  return usageFailure(`--fault: ${JSON.stringify(part)} is not a valid rule`, hint);
}
