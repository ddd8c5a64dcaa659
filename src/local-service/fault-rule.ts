import { parseDurationMs } from '../config/parse-duration.ts';
import { usageFailure } from '../errors.ts';
import { joinWithOr } from '../fields/closest-match.ts';
import type { Headers } from '../http/message.ts';
import { getHeader } from '../http/message.ts';
import { allOperations } from '../operations/all-operations.ts';
import { feedbackReplaceOperation } from '../operations/feedback-replace.ts';

/** A rule of `--fault`: which requests it matches, and what happens to them. */
export interface FaultRule {
  /** The path of the operation; undefined for all operations. */
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
  /** The number of body bytes after which the response is cut. */
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
  const number = (name: string): number | undefined => {
    const value = fields.get(name);
    return value === undefined ? undefined : Number(value);
  };
  const [count, period = ''] = fields.get('rate')?.split('/') ?? [];
  const [delay, reset] = [fields.get('delay'), fields.get('reset')];
  const rate =
    count === undefined ? undefined : { count: Number(count), periodMs: parseDurationMs('--fault rate', period) };
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
export function matchesFaultRule({ path, header }: FaultRule, requestPath: string, headers: Headers): boolean {
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
