import { locationInDraft } from '../body/draft.ts';
import { type AppliedState, Failure, type FailureCode, type Issue } from '../errors.ts';
import { collectBodyStart } from '../http/body-chunks.ts';
import { getHeader, type HttpResponse } from '../http/message.ts';
import { hasRetryAfter, retryAfterMs } from '../http/retry-after.ts';
import {
  firstStringMember,
  formatJsonPath,
  getMember,
  itemsAt,
  itemsOf,
  type JsonNode,
  type JsonPath,
  kindOf,
  nodeAtPath,
  rawText,
  rootOf,
  stringOf,
} from '../json/json-node.ts';
import { parseCutJson, tryParseJson } from '../json/parse-json.ts';
import { flagTarget } from '../operations/operation.ts';
import { mayBeApplied, responseFacts, retryAdvice, serviceName } from './exchange-failure.ts';
import type { RequestContext } from './request.ts';

/** The failure of a response whose status is not 2xx, with what the service says about it. `now` is in milliseconds since 1970. */
export async function failureFromStatus(response: HttpResponse, context: RequestContext, now: number) {
  const { status, statusText, headers } = response;
  const waitMs = retryAfterMs(headers, now);
  const mayDeleteFirst = context.operation.replaces !== undefined && !context.destination.isLocal;
  const { code = 'refused', applied } = classifyStatus(status, hasRetryAfter(headers), mayDeleteFirst);
  const facts = responseFacts(context, applied);
  const serviceError = parseServiceError(await collectBodyStart(response.body, MAX_ERROR_BYTES));
  const location = status >= 300 && status < 400 ? getHeader(headers, 'location') : undefined;
  const statusLine = `${status} ${statusText}`.trim();
  const summary = location
    ? `${serviceName(context.destination)} redirects to ${location} (${statusLine}), and svc does not follow redirects`
    : statusSummary(status, statusLine, context);
  const isUnknown = applied === 'unknown' && code !== 'refused';
  const suffix = isUnknown ? mayBeApplied(context).replace(' and', '; the request') : '';
  const issues = locateIssues(serviceError, context);
  const detail = location ? undefined : withoutStatus(serviceError.message, statusText, statusLine);
  const { url } = context.destination;
  // Web servers say so in words of their own: "The plain HTTP request was sent to HTTPS port".
  const isTlsPort =
    status === 400 && url.protocol === 'http:' && /\b(HTTPS|SSL|TLS)\b/i.test(serviceError.message ?? '');
  const schemaHint = `compare the request (add --dry-run) with its schema: svc spec ${context.operation.command.join(' ')}`;
  const hint = location
    ? 'if that is the service, use its URL as the base URL (--base-url)'
    : isTlsPort
      ? `use https://${url.host} as the base URL (--base-url)`
      : statusHint(code, status, context, waitMs, now);
  return new Failure(code, `${summary}${detail ? `: ${detail}` : ''}${suffix}`, {
    ...facts,
    summary,
    retryAfterMs: waitMs,
    isPermanent: code === 'rate_limited' && serviceError.isQuotaError,
    issues,
    hint: hint ?? (code === 'refused' && issues.length === 0 ? schemaHint : undefined),
  });
}

// Refused for now, and not applied; also 503 with Retry-After.
const RATE_LIMIT_STATUSES = [408, 421, 425, 429];

/** The failure code of a status, none for 2xx, and whether the request was applied (docs/contract.md, section 6). */
export function classifyStatus(
  status: number,
  saysWhen: boolean,
  mayDeleteFirst = false,
): { readonly code: FailureCode | undefined; readonly applied: AppliedState } {
  if (status >= 200 && status < 300) return { code: undefined, applied: 'yes' };
  if (status === 401 || status === 403) return { code: 'credentials', applied: 'no' };
  if (RATE_LIMIT_STATUSES.includes(status)) return { code: 'rate_limited', applied: 'no' };
  if (status === 400 && mayDeleteFirst) return { code: 'refused', applied: 'unknown' };
  if (status === 503 && saysWhen && !mayDeleteFirst) return { code: 'rate_limited', applied: 'no' };
  if (status === 502 || status === 504 || (status >= 520 && status < 530))
    return { code: 'unknown', applied: 'unknown' };
  if (status >= 500) return { code: 'failed', applied: 'unknown' };
  return { code: 'refused', applied: 'no' };
}

/** The failure of a 2xx response that is an HTML page: the service may never have seen the request. Undefined for any other body. */
export function failureFromPage(bytes: Uint8Array, context: RequestContext): Failure | undefined {
  const title = htmlTitle(bytes);
  if (title === undefined) return undefined;
  const page = title === '' ? 'an HTML page' : `an HTML page (title ${JSON.stringify(title)})`;
  const message = `${serviceName(context.destination)} returned ${page}: a proxy or login page responded, probably not the service`;
  const hint = `check the base URL: the request went to ${context.destination.url.href}`;
  return new Failure('invalid_response', message, {
    ...responseFacts(context, 'unknown'),
    hint: context.effect === 'read' ? hint : `${hint}; ${retryAdvice(context)}`,
  });
}

/** The fields that an error names, with the places in the command or its files that their values came from. */
export function locateIssues({ issues }: ServiceError, context: RequestContext): Issue[] {
  return issues.map(({ path, message }) => {
    const inBody = pathInBody(path, context);
    const at = inBody ? locationInDraft(context.draft, inBody) : '';
    return { path: formatJsonPath(inBody ?? path), at, message };
  });
}

export function statusSummary(status: number, statusLine: string, context: RequestContext): string {
  const { destination, authorization } = context;
  const service = serviceName(destination);
  const credential = authorization?.description ?? 'the request without credentials';
  const isProfileNamed = credential.includes('profile "') || destination.isLocal;
  const who = isProfileNamed ? credential : `${credential} (profile "${destination.profile}")`;
  if (status === 401) return `${service} rejected ${who}: ${statusLine}`;
  if (status === 403) return `${service} denies permission to ${who}: ${statusLine}`;
  return `${service} returned ${statusLine}`;
}

// Many services repeat the words of the status.
function withoutStatus(message: string | undefined, statusText: string, statusLine: string): string | undefined {
  const text = message?.trim().replace(/\.$/, '');
  return text === undefined || [statusText, statusLine].includes(text) ? undefined : text;
}

// A service may leave out the outer object, and may also name headers, queries, or fields that only it knows.
function pathInBody(path: JsonPath, { operation, draft }: RequestContext): JsonPath | undefined {
  const [first] = path;
  if (typeof first !== 'string') return undefined;
  if (Object.hasOwn(operation.body, first) || nodeAtPath(rootOf(draft.doc), path)) return path;
  const { path: outer, fields } = flagTarget(operation);
  return Object.hasOwn(fields, first) ? [...outer, ...path] : undefined;
}

/** The next step after a status. `waitMs` is what the service asks for, `now` in milliseconds since 1970. */
export function statusHint(code: FailureCode, status: number, context: RequestContext, waitMs = 0, now = 0) {
  const { operation, authorization, destination } = context;
  const { profile, url, isLocal } = destination;
  const { fields } = flagTarget(operation);
  if (operation.replaces && (status === 400 || status === 422))
    return status === 422 || isLocal
      ? 'the old record is unchanged: correct the body and run it again'
      : 'the old record may be deleted: correct the body and run it again with the same ids';
  if (status === 403) {
    const projectFlag = Object.hasOwn(fields, 'project_id') ? ' or --project-id' : '';
    const cause = '; the cause can also be a ref of another project or an invalid name in the body';
    const refs = operation.host === 'trace' ? cause : '';
    return `ask for permission on the service, or use another --profile${projectFlag}${refs}`;
  }
  if (code === 'credentials') {
    const correction =
      authorization?.correction ?? `to store other credentials, run: svc auth login --profile ${profile}`;
    return `${correction}; to see which credentials are used: svc auth status --profile ${profile}`;
  }
  if (code === 'rate_limited')
    return waitMs > 0 ? formatWait(waitMs, now, ': run the command again after') : 'run the command again later';
  if (status === 402) return 'check the quota and the billing of the account';
  if (status === 409) {
    const suspect = Object.hasOwn(fields, 'id') ? 'the ids and digests in the body' : 'the body';
    return `check ${suspect}: the service rejects the same body again`;
  }
  if (status === 413) return 'send a smaller body';
  if ([404, 405, 410, 415].includes(status)) {
    const named = [['project_id', 'the project'] as const, ['model', 'the model'] as const];
    const suspects = named.flatMap(([name, text]) => (status === 404 && Object.hasOwn(fields, name) ? [text] : []));
    return `check ${['the base URL', ...suspects].join(' and ')}: the request went to ${url.href}`;
  }
  if (code !== 'failed' && code !== 'unknown') return undefined;
  const advice = retryAdvice(context);
  return waitMs > 0 ? `${formatWait(waitMs, now, ', until')}; ${advice}` : advice;
}

// A server may ask for any wait; a date with a year of more than four digits is useless.
const MAX_SHOWN_TIME_MS = Date.UTC(9999, 11, 31);

function formatWait(waitMs: number, now: number, beforeEnd: string): string {
  const wait = `the service asks to wait ${Math.ceil(waitMs / 1000)} s`;
  if (now + waitMs > MAX_SHOWN_TIME_MS) return wait;
  return `${wait}${beforeEnd} ${new Date(now + waitMs).toISOString().replace(/\.\d+Z$/, 'Z')}`;
}

interface ServiceError {
  readonly message: string | undefined;
  readonly issues: readonly { readonly path: JsonPath; readonly message: string }[];
  /** A text or code of the error has the word quota: waiting a minute does not help (docs/servers.md). */
  readonly isQuotaError: boolean;
}

// Some servers echo the whole request.
const MAX_ERROR_BYTES = 64 * 1024;

/** Reads an error body in any of the shapes of docs/servers.md; any other text is the message. */
export function parseServiceError(bytes: Uint8Array): ServiceError {
  const root = tryParseJson(bytes) ?? (bytes.length < MAX_ERROR_BYTES ? undefined : parseCutJson(bytes));
  const issues = ['detail', 'errors'].flatMap((name) => itemsAt(root, name).flatMap(parseIssue));
  const message = issues.length > 0 ? undefined : root ? (findMessage(root) ?? rawText(root)) : nonJsonMessage(bytes);
  const isQuotaError = /quota/i.test(message ?? '') || hasQuotaText(root);
  // The field that an OpenAI-shaped error names: `max_tokens`, `messages[0].content`, `messages.0.content`.
  const param = firstStringMember(getMember(root, 'error'), 'param') ?? firstStringMember(root, 'param');
  const path = param === undefined ? undefined : parseFieldPath(param);
  return path && message !== undefined
    ? { message: undefined, issues: [{ path, message }], isQuotaError }
    : { message, issues, isQuotaError };
}

const messageFields = ['error', 'message', 'detail', 'reason', 'msg', 'title'];
const textFields = [...messageFields, 'code', 'type', 'error_code', 'error_type'];

// In named fields only: an error body may repeat the whole request.
function hasQuotaText(root: JsonNode | undefined): boolean {
  return [root, getMember(root, 'error'), getMember(root, 'detail'), ...itemsAt(root, 'detail')].some((node) =>
    textFields.some((name) => /quota/i.test(firstStringMember(node, name) ?? '')),
  );
}

function parseFieldPath(text: string): JsonPath | undefined {
  if (!/^[A-Za-z_]\w*(\.\w+|\[\d+\])*$/.test(text)) return undefined;
  return (text.match(/\w+/g) ?? []).map((step) => (/^\d+$/.test(step) ? Number(step) : step));
}

function findMessage(node: JsonNode): string | undefined {
  if (kindOf(node) === 'string') return stringOf(node);
  for (const name of messageFields) {
    const inner = getMember(node, name);
    const text = inner && findMessage(inner);
    if (text) return text;
  }
  return undefined;
}

function parseIssue(entry: JsonNode): { path: JsonPath; message: string }[] {
  const message = firstStringMember(entry, 'msg', 'message', 'reason');
  const location = getMember(entry, 'loc') ?? getMember(entry, 'field');
  if (message === undefined || !location) return [];
  const steps = locationSteps(location);
  return [{ path: steps[0] === 'body' ? steps.slice(1) : steps, message }];
}

// An array of steps, or one text such as `body.start.op_name`.
function locationSteps(location: JsonNode): JsonPath {
  if (kindOf(location) === 'string') return parseFieldPath(stringOf(location)) ?? [stringOf(location)];
  if (kindOf(location) !== 'list') return [];
  return Array.from(itemsOf(location), (step) => (kindOf(step) === 'number' ? Number(rawText(step)) : stringOf(step)));
}

function nonJsonMessage(bytes: Uint8Array): string | undefined {
  const title = htmlTitle(bytes);
  return title === undefined
    ? new TextDecoder().decode(bytes).trim() || undefined
    : title || 'the response is an HTML page';
}

const MAX_TITLE_CHARS = 200;

// Empty without a title, and undefined for any other text.
function htmlTitle(bytes: Uint8Array): string | undefined {
  const text = new TextDecoder().decode(bytes.subarray(0, MAX_ERROR_BYTES));
  if (!/^\s*</.test(text) || !/<(html|!doctype html|head|body)\b/i.test(text)) return undefined;
  const [, title = ''] = /<title\b[^<>]*>([^<]*)/i.exec(text) ?? [];
  return title
    .replace(/[ \t\r\n]+/g, ' ')
    .trim()
    .slice(0, MAX_TITLE_CHARS);
}
