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

export type FaultTermName = keyof typeof selectingFaultTerms | keyof typeof faultEffectTerms;

export const faultForms: readonly string[] = Object.values(allFaultTerms).map(({ form }) => form);

/** The term of a name; undefined for an unknown name. */
export function findFaultTerm(name: string): FaultTerm | undefined {
  return new Map<string, FaultTerm>(Object.entries(allFaultTerms)).get(name);
}
