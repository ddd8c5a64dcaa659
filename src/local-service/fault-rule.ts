import { parseDurationMs, parseDurationOrZeroMs } from '../config/setting-kinds.ts';
import { usageFailure } from '../errors.ts';
import { joinWithOr } from '../fields/closest-match.ts';
import { likelyNumbers } from '../json/number-literal.ts';
import { allOperations } from '../operations/all-operations.ts';
import { feedbackReplaceOperation } from '../operations/feedback-replace.ts';
import { type FaultTermName, faultEffectTerms, faultForms, findFaultTerm } from './fault-terms.ts';

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
