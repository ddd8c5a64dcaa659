import type { AppliedState, Effect, FailureCode } from '../errors.ts';
import { getHeader, type HttpHeaders, type HttpResponse, hasRetryAfter } from '../http/message.ts';
import { firstStringMember, getMember, itemsAt, type JsonNode, kindOf, membersOf, rawText } from '../json/json-node.ts';
import type { RequestContext } from './request.ts';

export interface Verdict {
  readonly code: FailureCode | undefined;
  readonly applied: AppliedState;
  readonly isProvenRefusal?: true;
}

interface ReceivedError extends Pick<HttpResponse, 'status' | 'headers'> {
  readonly root: JsonNode | undefined;
  readonly isPage: boolean;
}

/** A refusal that the response proves: status, effect, header and error must all be those of the row. */
interface ProvenRefusal {
  readonly statuses: readonly number[];
  readonly effects: readonly Effect[];
  readonly header?: { readonly name: string; readonly values: readonly string[] };
  readonly error?: { readonly type: string; readonly code: string; readonly messages: readonly string[] };
  /** A header whose number may not be larger: an attempt before the last one may have been applied. */
  readonly limit?: { readonly name: string; readonly max: number };
}

const DROPPED_REASON = 'x-llm-d-request-dropped-reason';

/** The responses that prove that the request was not applied, in spite of their status (docs/internals/servers.md). */
const provenRefusals: readonly ProvenRefusal[] = [
  {
    statuses: [503],
    effects: ['paid'],
    error: {
      type: 'Service Unavailable',
      code: '503',
      messages: [
        'The engine is currently busy and cannot accept new requests',
        'The engine has reached its prefill token backlog limit',
      ],
    },
  },
  {
    statuses: [429, 503],
    effects: ['paid'],
    header: {
      name: DROPPED_REASON,
      values: [
        'rejected-saturated',
        'rejected-ttl-expired',
        'rejected-shutting-down',
        'rejected-context-cancelled',
        'rejected-no-endpoints',
      ],
    },
  },
  {
    statuses: [503],
    effects: ['read', 'keyed', 'paid'],
    header: { name: 'x-envoy-overloaded', values: ['true'] },
    limit: { name: 'x-envoy-attempt-count', max: 1 },
  },
];

const RATE_LIMITED: Verdict = { code: 'rate_limited', applied: 'no' };
const PROVEN_REFUSAL: Verdict = { ...RATE_LIMITED, isProvenRefusal: true };

/** Judges a response that is not 2xx: by the proofs in it, else by its status. */
export function judgeResponse(received: ReceivedError, context: RequestContext): Verdict {
  const { status, headers } = received;
  const { effect, operation, destination, connection } = context;
  if (status === 407 && destination.proxy) return { code: 'unreachable', applied: 'no' };
  if (provenRefusals.some((row) => isProven(row, received, effect))) return PROVEN_REFUSAL;
  // The router had already passed the request on, or does not say that it had not.
  const isDropped = effect === 'paid' && getHeader(headers, DROPPED_REASON) !== undefined;
  if (isDropped && (status === 429 || status === 503))
    return { code: status === 429 ? 'unknown' : 'failed', applied: 'unknown' };
  if (effect === 'paid' && connection.overloadStatuses.includes(status)) return PROVEN_REFUSAL;
  // The local service checks a replacement first.
  const deletesFirst = operation.replaces !== undefined && !destination.isLocal;
  return deletesFirst ? judgeReplacement(received) : classifyStatus(status, hasRetryAfter(headers));
}

function isProven({ statuses, effects, header, error, limit }: ProvenRefusal, received: ReceivedError, effect: Effect) {
  const { status, headers } = received;
  if (!statuses.includes(status) || !effects.includes(effect)) return false;
  if (header && !hasOnlyValues(headers, header.name, header.values)) return false;
  if (limit && !(Number(getHeader(headers, limit.name) ?? 0) <= limit.max)) return false;
  return !error || isError(getMember(received.root, 'error'), error);
}

// Of a header that is sent twice, each value counts.
function hasOnlyValues(headers: HttpHeaders, name: string, values: readonly string[]): boolean {
  const found = headers.filter(([candidate]) => candidate.toLowerCase() === name);
  return found.length > 0 && found.every(([, value]) => values.includes(value.trim()));
}

function isError(node: JsonNode | undefined, { type, code, messages }: NonNullable<ProvenRefusal['error']>): boolean {
  const number = getMember(node, 'code');
  const message = firstStringMember(node, 'message') ?? '';
  return (
    firstStringMember(node, 'type') === type &&
    number !== undefined &&
    rawText(number) === code &&
    messages.some((text) => message.startsWith(text))
  );
}

// The responses of a server that come before it deletes the old record; after any other one the record may be gone.
const STATUSES_BEFORE_DELETION = [401, 403, 408, 413, 415, 421, 425, 429];
const routerTexts: { readonly [status: number]: string } = { 404: 'Not Found', 405: 'Method Not Allowed' };

function judgeReplacement({ status, root, isPage }: ReceivedError): Verdict {
  const { code, applied } = classifyStatus(status, false);
  if (status < 400 || status >= 500 || STATUSES_BEFORE_DELETION.includes(status)) return { code, applied };
  const isRouter = status in routerTexts && (isPage || hasOnlyDetail(root, routerTexts[status] ?? ''));
  const details = itemsAt(root, 'detail');
  const isBodyCheck = status === 422 && details.length > 0 && details.every((one) => getMember(one, 'loc'));
  if (isRouter || isBodyCheck) return { code, applied: 'no' };
  return { code: code === 'rate_limited' ? 'unknown' : code, applied: 'unknown' };
}

function hasOnlyDetail(root: JsonNode | undefined, text: string): boolean {
  return root !== undefined && [...membersOf(root)].length === 1 && firstStringMember(root, 'detail') === text;
}

// Refused for now, and not applied; also 503 with Retry-After.
const RATE_LIMIT_STATUSES = [408, 421, 425, 429];

/** The verdict of a status alone (docs/internals/contract.md, section 6). */
export function classifyStatus(status: number, saysWhen: boolean): Verdict {
  if (status >= 200 && status < 300) return { code: undefined, applied: 'yes' };
  if (status === 401 || status === 403) return { code: 'credentials', applied: 'no' };
  if (RATE_LIMIT_STATUSES.includes(status) || (status === 503 && saysWhen)) return RATE_LIMITED;
  if (status === 502 || status === 504 || (status >= 520 && status < 530))
    return { code: 'unknown', applied: 'unknown' };
  if (status >= 500) return { code: 'failed', applied: 'unknown' };
  return { code: 'refused', applied: 'no' };
}

// Of an error under status 200 only these codes prove that the request was not applied.
const PROVEN_CODES = ['401', '403', '429', 'rate_limit_exceeded'];

/** What came of the result besides an error: `some` proves that the request was applied, `none` allows for proofs that it was not. */
export type ResultEvidence = 'none' | 'unclear' | 'some';

export function resultEvidence(root: JsonNode | undefined): ResultEvidence {
  if (itemsAt(root, 'choices').length > 0) return 'some';
  const isAbsent = (node: JsonNode | undefined): boolean => node === undefined || kindOf(node) === 'null';
  return ['choices', 'usage'].every((name) => isAbsent(getMember(root, name))) ? 'none' : 'unclear';
}

/** Judges an error in a 2xx body or an event by its code, with the status that the code stands for. */
export function judgeErrorCode(serviceCode: string | undefined, effect: Effect, evidence: ResultEvidence) {
  // Some vendors number their errors as they like: only what can be a status is one.
  const isStatus = serviceCode !== undefined && /^[45]\d\d$/.test(serviceCode);
  const status = isStatus ? Number(serviceCode) : serviceCode === 'rate_limit_exceeded' ? 429 : undefined;
  const isProven = evidence === 'none' && effect === 'paid' && PROVEN_CODES.includes(serviceCode ?? '');
  const applied: AppliedState = evidence === 'some' ? 'yes' : isProven ? 'no' : 'unknown';
  const code = status === undefined || effect !== 'paid' ? undefined : classifyStatus(status, false).code;
  return { status, code: code ?? ('invalid_response' as const), applied };
}

/** True for a body that is an error in place of a result, of any shape of docs/internals/servers.md. */
export function isErrorBody(root: JsonNode): boolean {
  const error = getMember(root, 'error');
  if ((error && kindOf(error) !== 'null') || firstStringMember(root, 'object') === 'error') return true;
  const places = ['detail', 'message', 'reason', 'base_resp', 'errors'];
  const choices = getMember(root, 'choices');
  return (!choices || kindOf(choices) === 'null') && places.some((name) => getMember(root, name));
}
