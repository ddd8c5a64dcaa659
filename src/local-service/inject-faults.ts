import { createHash } from 'node:crypto';
import { parseDurationMs } from '../config/setting-kinds.ts';
import { usageFailure } from '../errors.ts';
import { joinWithOr } from '../fields/closest-match.ts';
import { getHeader, type HttpHeaders, type HttpResponse, type Middleware, type Send } from '../http/message.ts';
import { abortableDelay } from '../http/time-limits.ts';
import { firstStringMember } from '../json/json-node.ts';
import { tryParseJson } from '../json/parse-json.ts';
import { allOperations, operationAt } from '../operations/all-operations.ts';
import { feedbackReplaceOperation } from '../operations/feedback-replace.ts';
import type { Runtime } from '../runtime.ts';
import { sendWithCopies } from './body-copy.ts';
import { yieldToEventLoop } from './event-loop.ts';
import { HttpError, httpErrorResponse, requestPath } from './responses.ts';

/** Thrown instead of a response: the connection is reset, as by a server that crashes. */
export class ConnectionResetError extends Error {
  override readonly name = 'ConnectionResetError';
}

export type FaultRule = ReturnType<typeof parseFaultRule>;

/** Injects faults into the operations (`--fault`). The first rule that applies to a request decides. */
export function withFaults(
  rules: readonly FaultRule[],
  { after, elapsed }: Pick<Runtime, 'after' | 'elapsed'>,
  deleteFeedback: (project: string, id: string) => Promise<void>,
): Middleware {
  const counters = rules.map(createRuleCounter);
  return (next) => async (request) => {
    const path = requestPath(request);
    const operation = operationAt(path);
    const [rule] = operation ? counters.flatMap((count) => count(path, request.headers, elapsed()) ?? []) : [];
    if (!operation || !rule) return next(request);
    const respond: Send = async (sent) => {
      if (rule.delayMs > 0) await abortableDelay(rule.delayMs, after, sent.signal);
      if (rule.reset === 'before') throw new ConnectionResetError('reset by --fault before the request was applied');
      if (rule.status !== undefined) {
        const headers = rule.retryAfter === undefined ? [] : [['Retry-After', rule.retryAfter] as const];
        return httpErrorResponse(new HttpError(rule.status, 'injected by --fault', headers), operation.errors);
      }
      const response = await next(sent);
      if (rule.reset === 'after') throw new ConnectionResetError('reset by --fault after the request was applied');
      if (rule.cutBytes === undefined) return response;
      return { ...response, body: cutBody(response.body, rule.cutBytes), completeBody: undefined };
    };
    if (!rule.deletesOldFeedback) return respond(request);
    // As a server that deletes the old record before its last checks (docs/servers.md): before a 400, 5xx or lost response.
    return sendWithCopies(request, respond, operation.maxBodyBytes, async (sent, response) => {
      const isDeleted = response ? response.status === 400 || response.status >= 500 : rule.reset === 'before';
      const body = isDeleted ? tryParseJson(sent) : undefined;
      const [project, id] = ['project_id', 'feedback_id'].map((name) => body && firstStringMember(body, name));
      if (project !== undefined && id !== undefined) await deleteFeedback(project, id);
    });
  };
}

// Counts the requests that match a rule; undefined for requests that it does not affect.
function createRuleCounter(rule: FaultRule) {
  const { header, every, first, chance, seed, rate, retryAfter } = rule;
  let matched = 0;
  let windowStart = Number.NEGATIVE_INFINITY;
  let windowCount = 0;
  return (path: string, headers: HttpHeaders, now: number): FaultRule | undefined => {
    if (rule.path !== undefined && rule.path !== path) return undefined;
    const value = header && getHeader(headers, header.name);
    if (header && (value === undefined || (header.value !== undefined && header.value !== value))) return undefined;
    matched += 1;
    if (matched % every !== 0 || matched > first) return undefined;
    // A share from 0 to below 1, the same for the same text on every machine.
    const hash = createHash('sha256').update(`${seed}:${matched}`).digest();
    if (chance < 1 && hash.readUInt32BE(0) / 2 ** 32 >= chance) return undefined;
    if (!rate) return rule;
    if (now >= windowStart + rate.periodMs) [windowStart, windowCount] = [now, 0];
    windowCount += 1;
    if (windowCount <= rate.count) return undefined;
    const seconds = Math.max(1, Math.ceil((windowStart + rate.periodMs - now) / 1000));
    return { ...rule, retryAfter: retryAfter ?? String(seconds) };
  };
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

const EXAMPLE = 'for example operation=chat,every=3,status=503,retry-after=2';
const RATE_LIMITED_STATUS = 429;

/** Parses a rule such as `operation=chat,every=3,status=503,retry-after=2`. Throws Failure `usage`. */
export function parseFaultRule(text: string) {
  const fields = new Map<string, string>();
  for (const part of text.split(',')) {
    const [, name = '', value = ''] = /^\s*([^=\s]*)\s*(?:=(.*))?$/s.exec(part) ?? [];
    const key = faultKeys.get(name);
    if (!key || fields.has(name)) {
      const names = Array.from(faultKeys.keys(), (known) => `${known}=`).join(' ');
      const why = key ? 'is given twice' : 'is not a term';
      throw faultFailure(part.trim(), `${name}= ${why}; terms, each at most once: ${names}; ${EXAMPLE}`);
    }
    const [pattern, hint] = key;
    if (!pattern.test(value)) throw faultFailure(part.trim(), hint);
    fields.set(name, value);
  }
  const read = <T>(name: string, parse: (value: string) => T): T | undefined => {
    const value = fields.get(name);
    return value === undefined ? undefined : parse(value);
  };
  const number = (name: string): number | undefined => read(name, Number);
  const rate = read('rate', (value) => {
    const [count, period = ''] = value.split('/');
    return { count: Number(count), periodMs: parseDurationMs('--fault rate', period) };
  });
  const rule = {
    path: read('operation', (name) => {
      const operation = allOperations.find((one) => one.path === name || operationName(one) === name);
      if (!operation) throw faultFailure(`operation=${name}`, OPERATION_HINT);
      return operation.path;
    }),
    header: read('header', (value) => {
      const [, name = '', wanted] = /^([^:]+)(?::\s*(.*))?$/s.exec(value) ?? [];
      return { name, value: wanted };
    }),
    /** Of the matching requests every nth, only the first ones, and a share of them. */
    every: number('every') ?? 1,
    first: number('first') ?? Number.POSITIVE_INFINITY,
    chance: number('chance') ?? 1,
    seed: fields.get('seed') ?? '0',
    /** Affects only the requests above it. */
    rate,
    status: number('status') ?? (rate ? RATE_LIMITED_STATUS : undefined),
    retryAfter: fields.get('retry-after'),
    delayMs: read('delay', (value) => parseDurationMs('--fault delay', value)) ?? 0,
    cutBytes: number('cut'),
    reset: fields.get('reset'),
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

const OPERATION_HINT = `use ${joinWithOr(allOperations.map(operationName))}`;

const faultKeys: ReadonlyMap<string, readonly [pattern: RegExp, hint: string]> = new Map([
  ['operation', [/./, OPERATION_HINT]],
  ['header', [/^[^:]+/, 'use header=name or header=name:value']],
  ['every', [/^[1-9]\d*$/, 'use a number from 1, for every nth matching request']],
  ['first', [/^[1-9]\d*$/, 'use a number from 1, for only the first n matching requests']],
  ['chance', [/^(0?\.\d+|0|1(\.0+)?)$/, 'use a number from 0 to 1, for a share of the matching requests']],
  ['seed', [/./, 'use any text; the same seed chooses the same requests']],
  ['rate', [/^[1-9]\d*\/[^/]+$/, 'use a number of requests and a time, such as rate=5/10s']],
  ['status', [/^[45]\d\d$/, 'use a status from 400 to 599']],
  ['retry-after', [/^\d+$/, 'use a number of seconds']],
  ['delay', [/./, 'use a time, such as delay=0.2s']],
  ['cut', [/^\d+$/, 'use a number of bytes of the response body']],
  ['delete', [/^old$/, 'use delete=old']],
  ['reset', [/^(before|after)$/, 'use reset=before or reset=after']],
]);

function operationName({ command }: (typeof allOperations)[number]): string {
  return command.join('-');
}

function faultFailure(part: string, hint: string): Error {
  return usageFailure(`--fault: ${JSON.stringify(part)} is not a valid rule`, hint);
}
