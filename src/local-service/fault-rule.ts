import { parseDurationMs, parseDurationOrZeroMs } from '../config/setting-kinds.ts';
import { usageFailure } from '../errors.ts';
import { joinWithOr } from '../fields/closest-match.ts';
import { likelyNumbers } from '../json/number-literal.ts';
import { allOperations } from '../operations/all-operations.ts';
import { feedbackReplaceOperation } from '../operations/feedback-replace.ts';

export type FaultRule = ReturnType<typeof parseFaultRule>;

const EXAMPLE = 'for example operation=chat,every=3,status=503,retry-after=2';
const RATE_LIMITED_STATUS = 429;
const exclusiveTerms = ['status', 'cut', 'reset', 'complete-mode', 'error-200', 'finish-error'] as const;
const waitTerms = ['delay', 'ttft', 'tps'] as const;
const modifyingTerms: readonly string[] = ['retry-after', 'jitter', 'knee'];

/** Parses a rule such as `operation=chat,every=3,status=503,retry-after=2`. Throws Failure `usage`. */
export function parseFaultRule(text: string) {
  const fields = readTerms(text);
  const read = <T>(name: FaultTermName, parse: (value: string) => T): T | undefined => {
    const value = fields.get(name);
    return value === undefined ? undefined : parse(value);
  };
  const number = (name: FaultTermName): number | undefined => read(name, Number);
  const milliseconds = (name: FaultTermName): number =>
    read(name, (value) => parseDurationOrZeroMs(`--fault ${name}`, value)) ?? 0;
  const rate = read('rate', (value) => {
    const [count, period = ''] = value.split('/');
    return { count: Number(count), periodMs: parseDurationMs('--fault rate', period) };
  });
  const rule = {
    path: restrictPath(fields, read('operation', pathOfOperation)),
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
    delayMs: milliseconds('delay'),
    cutBytes: number('cut'),
    reset: fields.get('reset'),
    deletesOldFeedback: fields.has('delete'),
    capacity: number('capacity') ?? Number.POSITIVE_INFINITY,
    isCompleteMode: fields.has('complete-mode'),
    errorUnderSuccess: read('error-200', (value) => value || '500'),
    finishReason: read('finish-error', (value) => value || 'error'),
    encodings: read('encoding', (value) => value.split('+')) ?? [],
    hasAzureChunk: fields.has('first-chunk'),
    hasUnknownFields: fields.has('split'),
    firstTokenMs: milliseconds('ttft'),
    tokenMs: read('tps', (value) => 1000 / Number(value)) ?? 0,
    jitter: number('jitter') ?? 0,
    /** The number of requests in flight beyond which waits grow. */
    knee: number('knee') ?? Number.POSITIVE_INFINITY,
  };
  const effects = exclusiveTerms.filter((name) => fields.has(name) || (name === 'status' && rate));
  if (effects.length > 1)
    throw faultFailure(text, `a rule has one of ${exclusiveTerms.join(', ')}; give --fault again for another`);
  if (rule.retryAfter !== undefined && rule.status === undefined)
    throw faultFailure(`retry-after=${rule.retryAfter}`, `it needs status= or rate=; ${EXAMPLE}`);
  if (rule.deletesOldFeedback && rule.path !== feedbackReplaceOperation.path)
    throw faultFailure('delete=old', 'it needs operation=feedback-replace');
  const waiting = ['jitter', 'knee'].find((name) => fields.has(name));
  if (waiting && !waitTerms.some((name) => fields.has(name)))
    throw faultFailure(text, `${waiting}= needs delay=, ttft= or tps=`);
  if (!rate && !Array.from(fields.keys()).some((name) => name in faultEffectTerms && !modifyingTerms.includes(name)))
    throw faultFailure(text, `add status=, delay=, capacity= or another effect; ${EXAMPLE}`);
  return rule;
}

function readTerms(text: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (const part of text.split(',')) {
    const [, name = '', value = ''] = /^\s*([^=\s]*)\s*(?:=(.*))?$/s.exec(part) ?? [];
    const term = findFaultTerm(name);
    if (!term || fields.has(name)) {
      const names = faultForms.map((form) => form.replace(/=.*/, '=')).join(' ');
      const why = term ? 'is given twice' : 'is not a term';
      if (/^\d{3}$/.test(name)) throw faultFailure(part.trim(), `write status=${name}; ${EXAMPLE}`);
      throw faultFailure(part.trim(), `${name}= ${why}; terms, each at most once: ${names}; ${EXAMPLE}`);
    }
    if (!term.value.test(value)) {
      const meant = likelyNumbers(value).find((one) => term.value.test(one));
      const use = `use ${term.form}: ${term.summary.replaceAll('`', '')}`;
      throw faultFailure(part.trim(), meant === undefined ? use : `write ${name}=${meant}`);
    }
    fields.set(name, value);
  }
  return fields;
}

// Some terms exist for one operation only, to which they restrict the rule.
function restrictPath(fields: ReadonlyMap<string, string>, path: string | undefined): string | undefined {
  let restricted = path;
  for (const name of fields.keys()) {
    const operation = findFaultTerm(name)?.operation;
    if (operation === undefined) continue;
    const needed = pathOfOperation(operation);
    if (restricted !== undefined && restricted !== needed) throw faultFailure(name, `it needs operation=${operation}`);
    restricted = needed;
  }
  return restricted;
}

function pathOfOperation(name: string): string {
  const operation = allOperations.find((one) => one.path === name || operationName(one) === name);
  if (operation) return operation.path;
  throw faultFailure(`operation=${name}`, `use ${joinWithOr(allOperations.map(operationName))}`);
}

function operationName({ command }: (typeof allOperations)[number]): string {
  return command.join('-');
}

function faultFailure(part: string, hint: string): Error {
  return usageFailure(`--fault: ${JSON.stringify(part)} is not a valid rule`, hint);
}

interface FaultTerm {
  /** As it is written, with an example of its value. */
  readonly form: string;
  /** What a value may be. A term without a value has an empty one. */
  readonly value: RegExp;
  readonly summary: string;
  /** The operation to which the term restricts a rule. */
  readonly operation?: 'chat' | 'call-start';
}

const DURATION = /^\d/;

/** The terms of a `--fault` rule that select requests. Help, errors and the reference show both tables. */
export const selectingFaultTerms = {
  operation: {
    form: 'operation=chat',
    value: /./,
    summary: '`chat`, `call-start`, `feedback-replace`, `feedback-schema`, `train`, or a path; default: all five',
  },
  header: {
    form: 'header=name:value',
    value: /^[^:]+/,
    summary: 'requests with the header; without `:value`, with any value',
  },
  every: { form: 'every=3', value: /^[1-9]\d*$/, summary: 'every third matching request, or any other number from 1' },
  first: { form: 'first=10', value: /^[1-9]\d*$/, summary: 'only the first matching requests' },
  chance: {
    form: 'chance=0.2',
    value: /^(0?\.\d+|0|1(\.0+)?)$/,
    summary: 'a random share of the matching requests, from 0 to 1',
  },
  seed: { form: 'seed=a', value: /./, summary: 'any text; the same seed selects the same share, and the same jitter' },
  rate: {
    form: 'rate=5/10s',
    value: /^[1-9]\d*\/[^/]+$/,
    summary: 'requests above 5 in 10 s: 429 with `Retry-After`, unless `status=` says otherwise',
  },
} as const satisfies Record<string, FaultTerm>;

/** The terms that say what happens to the selected requests. */
export const faultEffectTerms = {
  status: {
    form: 'status=503',
    value: /^[45]\d\d$/,
    summary: 'an error response from 400 to 599 without applying the request',
  },
  'retry-after': {
    form: 'retry-after=2',
    value: /^\d+$/,
    summary: 'with `status=` or `rate=`: the header, in seconds',
  },
  delay: { form: 'delay=0.5s', value: DURATION, summary: 'waits first; alone or with another effect' },
  cut: {
    form: 'cut=100',
    value: /^\d+$/,
    summary: 'applies the request, and ends the connection after 100 bytes of the body',
  },
  reset: {
    form: 'reset=after',
    value: /^(before|after)$/,
    summary: 'resets the connection after the request is applied, or `before` that',
  },
  delete: {
    form: 'delete=old',
    value: /^old$/,
    summary:
      'with `operation=feedback-replace`: a 400, a 5xx or `reset=before` deletes the old record, as on servers that delete it before their last checks. The service then makes the checks of `docs/internals/servers.md`, too',
  },
  capacity: {
    form: 'capacity=6',
    value: /^\d*$/,
    summary:
      'a full queue: with 6 requests in flight, others get 503 without `Retry-After`, with the message of vLLM. Without a number, every request does',
  },
  'complete-mode': {
    form: 'complete-mode',
    value: /^$/,
    operation: 'call-start',
    summary: '400 with `CALLS_COMPLETE_MODE_REQUIRED`, as for a project that takes only complete calls',
  },
  'error-200': {
    form: 'error-200=429',
    value: /^[\w-]*$/,
    summary:
      'applies the request, and responds with an error of this code (default: 500) under status 200; in a stream, as its first event',
  },
  'finish-error': {
    form: 'finish-error=network_error',
    value: /^\w*$/,
    operation: 'chat',
    summary: 'the text, then an error with this finish reason (default: `error`)',
  },
  encoding: {
    form: 'encoding=gzip+gzip',
    value: /^[\w-]+(\+[\w-]+)*$/,
    summary:
      '`Content-Encoding`, joined by `+`: `gzip`, `deflate`, `raw-deflate` and `br` encode the body. Any other, such as `identity`, `none`, `utf-8` or `aws-chunked`, is only named in the header',
  },
  'first-chunk': {
    form: 'first-chunk=azure',
    value: /^azure$/,
    operation: 'chat',
    summary: 'begins a stream with a chunk that has empty `id`, `model` and `choices`, as Azure does',
  },
  split: {
    form: 'split=unknown-field',
    value: /^unknown-field$/,
    operation: 'chat',
    summary:
      'sends the text also in two fields that no interface has: `unknown_text`, and in pieces with an `index`, `unknown_items`',
  },
  ttft: { form: 'ttft=200ms', value: DURATION, operation: 'chat', summary: 'the time to the first token' },
  tps: {
    form: 'tps=50',
    value: /^(?=.*[1-9])\d+(\.\d+)?$/,
    operation: 'chat',
    summary: 'tokens per second of each response',
  },
  jitter: {
    form: 'jitter=0.2',
    value: /^(0?\.\d+|0|1(\.0+)?)$/,
    summary: 'waits are up to this share longer or shorter',
  },
  knee: {
    form: 'knee=32',
    value: /^[1-9]\d*$/,
    summary: 'waits grow with the requests in flight beyond 32: twice as long at 64',
  },
} as const satisfies Record<string, FaultTerm>;

const allFaultTerms: Readonly<Record<FaultTermName, FaultTerm>> = { ...selectingFaultTerms, ...faultEffectTerms };

type FaultTermName = keyof typeof selectingFaultTerms | keyof typeof faultEffectTerms;

export const faultForms: readonly string[] = Object.values(allFaultTerms).map(({ form }) => form);

function findFaultTerm(name: string): FaultTerm | undefined {
  return new Map<string, FaultTerm>(Object.entries(allFaultTerms)).get(name);
}
