import { placeInDraft } from '../body/draft.ts';
import type { AppliedState, Failure, FailureCode, Issue } from '../errors.ts';
import { flagName } from '../fields/field.ts';
import { collectBodyStart } from '../http/body-chunks.ts';
import { getHeader, type HttpResponse, retryAfterMs } from '../http/message.ts';
import { proxyHint, proxyLoginReason } from '../http/proxy.ts';
import { firstStringMember, formatJsonPath, getMember, type JsonPath, nodeAtPath, rootOf } from '../json/json-node.ts';
import { flagTarget } from '../operations/operation.ts';
import { redactUserInfo } from '../output/redaction.ts';
import { shellWord } from '../output/shell-quote.ts';
import { baseUrlName, mayBeApplied, requestFailure, responseFacts, serviceName } from './exchange-failure.ts';
import type { RequestContext } from './request.ts';
import { htmlTitle, MAX_ERROR_BYTES, parseServiceError, type ServiceError } from './service-error.ts';
import { judgeErrorCode, judgeResponse, type ResultEvidence } from './verdict.ts';

/** The failure of a response whose status is not 2xx, with what the service says about it. `now` is in milliseconds since 1970. */
export async function failureFromStatus(response: HttpResponse, context: RequestContext, now: number) {
  const { status, statusText, headers } = response;
  const { operation, destination } = context;
  const { url, proxy } = destination;
  const waitMs = retryAfterMs(headers, now);
  const body = await collectBodyStart(response.body, MAX_ERROR_BYTES);
  const serviceError = parseServiceError(body);
  const isPage = htmlTitle(body) !== undefined;
  const verdict = judgeResponse({ status, headers, root: serviceError.root, isPage }, context);
  const { code = 'refused', applied, isProvenRefusal } = verdict;
  const location = status >= 300 && status < 400 ? getHeader(headers, 'location') : undefined;
  const statusLine = `${status} ${statusText}`.trim();
  const isProxyResponse = code === 'unreachable' || getHeader(headers, 'x-squid-error') !== undefined;
  const summary =
    proxy && isProxyResponse
      ? `the proxy ${proxy.host} ${code === 'unreachable' ? proxyLoginReason(proxy) : `returned ${statusLine}`}`
      : location
        ? `${serviceName(destination)} redirects to ${location} (${statusLine}), and svc does not follow redirects`
        : statusSummary(status, statusLine, context);
  const isUnknown = applied === 'unknown' && code !== 'refused';
  const suffix = isUnknown ? mayBeApplied('; the request', context) : '';
  const issues = locateIssues(serviceError, context);
  const isOwnText = location !== undefined || code === 'unreachable';
  const detail = isOwnText ? undefined : withoutStatus(serviceError.message, statusText, statusLine);
  // Web servers say so in words of their own: "The plain HTTP request was sent to HTTPS port".
  const isTlsPort =
    status === 400 && url.protocol === 'http:' && /\b(HTTPS|SSL|TLS)\b/i.test(serviceError.message ?? '');
  const schemaHint = `compare the request (add --dry-run) with its schema: svc spec ${operation.command.join(' ')}`;
  const hint = location
    ? redirectHint(location, context)
    : isTlsPort
      ? `use https://${url.host} as the base URL (--base-url)`
      : statusHint({ code, applied, status, serviceError, isPage, waitMs, now }, context);
  return requestFailure(
    code,
    `${summary}${detail ? `: ${detail}` : ''}${suffix}`,
    {
      ...responseFacts(context, applied, serviceError),
      // Nothing reached the service.
      ...(code === 'unreachable' ? { phase: 'nothing', bytesSent: 0, reason: summary } : {}),
      summary,
      retryAfterMs: waitMs,
      isProvenRefusal,
      isPermanent: code === 'unreachable' || isPermanent(code, serviceError, context),
      issues,
      hint: hint ?? (code === 'refused' && issues.length === 0 ? schemaHint : undefined),
    },
    context,
  );
}

// Without the path of the operation, which svc adds.
function redirectHint(location: string, { destination: { url }, operation }: RequestContext): string {
  const target = URL.canParse(location, url.href) ? new URL(location, url.href).href.replace(/[?#].*$/s, '') : location;
  const base = target.endsWith(operation.path) ? target.slice(0, -operation.path.length) : undefined;
  if (base === undefined) return 'if that is the service, use its URL as the base URL (--base-url)';
  return `if that is the service, add --base-url ${shellWord(redactUserInfo(base))}`;
}

/** The failure of a 2xx response that is an HTML page: the service may never have seen the request. Undefined for any other body. */
export function failureFromPage(bytes: Uint8Array, context: RequestContext): Failure | undefined {
  const title = htmlTitle(bytes);
  if (title === undefined) return undefined;
  const page = title === '' ? 'an HTML page' : `an HTML page (title ${JSON.stringify(title)})`;
  const message = `${serviceName(context.destination)} returned ${page}: a proxy or login page responded, probably not the service`;
  const hint = `check ${baseUrlName(context.destination)}: the request went to ${context.destination.url.href}`;
  return requestFailure('invalid_response', message, { ...responseFacts(context, 'unknown'), hint }, context);
}

/** The failure of an error under a 2xx status: what the service did (`what`), where the error is (`place`), what came before it. */
export function failureFromErrorBody(
  body: Uint8Array,
  context: RequestContext,
  { what, place, evidence }: { readonly what: string; readonly place: string; readonly evidence: ResultEvidence },
): Failure {
  const serviceError = parseServiceError(body);
  const { serviceCode, message } = serviceError;
  const { code, status, applied } = judgeErrorCode(serviceCode, context.effect, evidence);
  const summary =
    status === undefined
      ? `${serviceName(context.destination)} ${what}`
      : `${statusSummary(status, String(status), context)}${place}`;
  const httpStatus = context.response?.status ?? 0;
  const suffix = applied === 'unknown' ? mayBeApplied('; the request', context) : '';
  return requestFailure(
    code,
    `${summary}${message === undefined ? '' : `: ${message}`}${suffix}`,
    {
      ...responseFacts(context, applied, serviceError),
      summary,
      status: status ?? httpStatus,
      issues: locateIssues(serviceError, context),
      isPermanent: isPermanent(code, serviceError, context),
      hint:
        code === 'rate_limited' && applied !== 'no'
          ? undefined
          : statusHint({ code, applied, status: status ?? httpStatus, serviceError }, context),
    },
    context,
  );
}

// No wait brings a quota back, or credentials to a request that has none.
function isPermanent(code: FailureCode, { isQuotaError }: ServiceError, { authorization }: RequestContext): boolean {
  return (code === 'rate_limited' && isQuotaError) || (code === 'credentials' && authorization === undefined);
}

/** The fields that an error names, with the places in the command or its files that their values came from. */
function locateIssues({ issues }: Pick<ServiceError, 'issues'>, context: RequestContext): Issue[] {
  return issues.map(({ path, message }) => {
    const inBody = pathInBody(path, context);
    const at = inBody && placeInDraft(context.draft, inBody);
    return { path: formatJsonPath(inBody ?? path), at, message };
  });
}

function statusSummary(status: number, statusLine: string, context: RequestContext): string {
  const { destination, authorization } = context;
  const service = serviceName(destination);
  const credential = authorization?.description ?? 'the request without credentials';
  const isProfileNamed = authorization?.isStored || destination.isLocal;
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

interface StatusFacts {
  readonly code: FailureCode;
  readonly applied: AppliedState;
  readonly status: number;
  readonly serviceError: ServiceError;
  /** The body is HTML, as that of a web server. */
  readonly isPage?: boolean;
  readonly waitMs?: number | undefined;
  readonly now?: number;
}

function statusHint(facts: StatusFacts, context: RequestContext): string | undefined {
  const { code, applied, status, serviceError, isPage = false, waitMs = 0, now = 0 } = facts;
  const { operation, authorization, destination } = context;
  const { profile, url, login, proxySource = 'HTTPS_PROXY' } = destination;
  const { fields } = flagTarget(operation);
  if (code === 'unreachable' || status === 407) return proxyHint(proxySource, status);
  if (serviceError.serviceCode === COMPLETE_MODE_CODE && status === 400 && operation.continuesTrace)
    return completeModeHint(context);
  if (operation.replaces && code === 'refused' && applied === 'unknown')
    return 'the old record may be deleted: correct the body and run it again with the same ids';
  if (operation.replaces && (status === 400 || status === 422))
    return 'the old record is unchanged: correct the body and run it again';
  const remedy = status === 401 || waitMs > 0 ? undefined : remedyOf(serviceError, status, context);
  if (remedy) return remedy;
  if (status === 451 || (isPage && (status === 403 || status === 503)))
    return 'the service, or a firewall or proxy before it, may not serve this request: ask who runs it';
  if (status === 403 && authorization) {
    const projectFlag = Object.hasOwn(fields, 'project_id') ? ' or --project-id' : '';
    const cause = '; the cause can also be a ref of another project or an invalid name in the body';
    const refs = operation.host === 'trace' ? cause : '';
    return `ask for permission on the service, or use another --profile${projectFlag}${refs}`;
  }
  if (code === 'credentials') {
    const variables = operation.auth === 'bearer' ? 'SVC_TOKEN' : 'SVC_USERNAME and SVC_PASSWORD';
    const store = authorization
      ? `to store other credentials, run: ${login}`
      : `set ${variables}, or to store credentials, run: ${login}`;
    const correction = authorization?.correction ?? store;
    return `${authorization?.quotes ?? ''}${correction}; to see which credentials are used: svc auth status --profile ${profile}`;
  }
  // The server of another host name, or of another protocol.
  const isMisdirected = status === 421 || status === 426;
  if (code === 'rate_limited' && !isMisdirected)
    return waitMs > 0 ? formatWait(waitMs, now, ': run the command again after') : 'run the command again later';
  if (status === 409) {
    const suspect = Object.hasOwn(fields, 'id') ? 'the ids and digests in the body' : 'the body';
    return `check ${suspect}: the service rejects the same body again`;
  }
  if (isMisdirected || [404, 405, 410, 415, 501].includes(status) || (isPage && status < 500)) {
    const named = [
      ['project_id', 'the project'] as const,
      ['model', `the model (-m; ${modelList(url)} lists them)`] as const,
    ];
    const suspects = named.flatMap(([name, text]) => (status === 404 && Object.hasOwn(fields, name) ? [text] : []));
    const rerun = operation.replaces && applied !== 'unknown' ? '; then run it again with the same ids' : '';
    return `check ${[baseUrlName(destination), ...suspects].join(' and ')}: the request went to ${url.href}${rerun}`;
  }
  if (code !== 'failed' && code !== 'unknown') return undefined;
  if (waitMs > 0) return formatWait(waitMs, now, ', until');
  return operation.replaces ? undefined : 'check the status page or the log of the service';
}

// What the service says about the cause, in the words of docs/internals/servers.md: a retry of the same request fails again.
function remedyOf(
  { serviceCode, message, issues, isQuotaError, root }: ServiceError,
  status: number,
  { operation, destination: { url }, body, draft }: RequestContext,
): string | undefined {
  const type = firstStringMember(getMember(root, 'error'), 'type');
  const said = [serviceCode, type, message, ...issues.map((issue) => issue.message)].join('\n');
  if (status >= 500) return undefined;
  if (operation.result.as === 'chat') {
    const limit = ['max_completion_tokens', 'max_tokens'].find((name) => nodeAtPath(rootOf(draft.doc), [name]));
    if ((status === 429 ? /request too large for/i : TOO_LONG).test(said))
      return `shorten the prompt or the conversation${limit ? `, or lower --${flagName(limit)}` : ''}`;
    if (REFUSED_CONTENT.test(said)) return 'change the prompt or its attachments: the service refuses their content';
    if (UNKNOWN_MODEL.test(said)) return `name a model of the service with -m <model>; ${modelList(url)} lists them`;
  }
  if (status === 402 || isQuotaError || UNPAID.test(said))
    return 'check the quota and the billing of the account: until they change, a retry fails, too';
  if (status === 413) return `send a smaller body${body.length ? `: this one has ${body.length} bytes` : ''}`;
  const header = issues.find(({ path: [first] }) => first === 'header')?.path[1];
  return header === undefined ? undefined : `add the header: -H '${header}: <value>'`;
}

const TOO_LONG =
  /context[ _-]?(?:length|size|window)|\b(?:prompt|input|messages?)\b[^.]*\b(?:is|are) too long|\bexceed\w* [^.]*\btokens\b|request too large for|too many tokens|\btokens\b[^.]*must be <=/i;
const REFUSED_CONTENT = /content[ _-](?:filter|policy|management)|safety system|\bmoderation\b|was flagged/i;
const UNKNOWN_MODEL =
  /\b(?:invalid|unknown)[ _]model\b|model_not_|\bmodel\b[^.\n]*\b(?:not exist|not found|not (?:available|supported|loaded)|required|missing)\b|must (?:provide|specify) a model/i;
const UNPAID = /\bbilling\b|\bcredit balance\b|\binsufficient (?:balance|credits?|funds)\b/i;

function modelList({ href }: URL): string {
  return href.replace(/chat\/completions$/, 'models');
}

const COMPLETE_MODE_CODE = 'CALLS_COMPLETE_MODE_REQUIRED';

// A project in this mode takes calls only under a base URL that names it (docs/internals/servers.md).
function completeModeHint({ operation, destination, draft }: RequestContext): string | undefined {
  const project = firstStringMember(nodeAtPath(rootOf(draft.doc), flagTarget(operation).path), 'project_id');
  const baseUrl = destination.url.href.slice(0, -operation.path.length);
  const hint = `the project takes calls under another base URL; use --base-url ${baseUrl}/v2/${encodeURI(project ?? '')}`;
  return project === undefined || baseUrl.endsWith(`/v2/${project}`) ? undefined : hint;
}

// A server may ask for any wait; a date with a year of more than four digits is useless.
const MAX_SHOWN_TIME_MS = Date.UTC(9999, 11, 31);

function formatWait(waitMs: number, now: number, beforeEnd: string): string {
  const wait = `the service asks to wait ${Math.ceil(waitMs / 1000)} s`;
  if (now + waitMs > MAX_SHOWN_TIME_MS) return wait;
  return `${wait}${beforeEnd} ${new Date(now + waitMs).toISOString().replace(/\.\d+Z$/, 'Z')}`;
}
