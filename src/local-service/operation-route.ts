import type { Fields } from '../fields/field.ts';
import type { Finding } from '../fields/finding.ts';
import { uuidV7 } from '../fields/uuid.ts';
import { collectBody } from '../http/body-chunks.ts';
import { getHeader, type HttpRequest, type HttpResponse } from '../http/message.ts';
import { formatJsonPath, type JsonPath } from '../json/json-node.ts';
import type { Operation } from '../operations/operation.ts';
import { sendWithCopies } from './body-copy.ts';
import { yieldAfterWork } from './event-loop.ts';
import { localModelName } from './model/chat-completion.ts';
import { declaredBodyBytes, limitedChunks } from './request-body.ts';
import { HttpError, invalidBodyResponse, jsonResponse } from './responses.ts';
import { type BodyReceiver, readRoute, type ServiceContext, type ServiceRoute } from './service-context.ts';
import type { Upstream } from './upstream.ts';

/** The route of an operation: its body is limited, validated as the command line does it, and then applied. */
export function operationRoute(operation: Operation, receive: BodyReceiver, context: ServiceContext): ServiceRoute {
  return {
    method: 'POST',
    auth: operation.auth,
    errors: operation.errors,
    respond: async (request, caller) => {
      requireJson(request);
      requireIdentityEncoding(request);
      const maxBytes = Math.min(operation.largestBody, context.maxBodyBytes);
      const length = declaredBodyBytes(request);
      const received = await receive(limitedChunks(request, maxBytes), length, caller, context);
      try {
        const refusal = validationResponse(received.findings, operation);
        await yieldAfterWork(length, caller.signal);
        return refusal ?? (await received.apply());
      } finally {
        await received.discard();
      }
    },
  };
}

/** Refuses other content types, which a web page could send without asking, and other charsets. Throws HttpError 415. */
function requireJson({ headers }: HttpRequest): void {
  const contentType = getHeader(headers, 'content-type') ?? '';
  const isUtf8 = !/;\s*charset\s*=\s*(?!"?utf-?8"?\s*(;|$))/i.test(contentType);
  if (/^application\/json\s*(;|$)/i.test(contentType) && isUtf8) return;
  throw new HttpError(415, `Content-Type must be application/json in UTF-8, not ${JSON.stringify(contentType)}`);
}

function requireIdentityEncoding({ headers }: HttpRequest): void {
  const encoding = getHeader(headers, 'content-encoding')?.trim();
  if (!encoding || encoding.toLowerCase() === 'identity') return;
  throw new HttpError(
    415,
    `Content-Encoding ${JSON.stringify(encoding)} is not supported; send the body uncompressed`,
    [['Accept-Encoding', 'identity']],
  );
}

function validationResponse(findings: readonly Finding[], operation: Operation): HttpResponse | undefined {
  const oversized = findings.find(({ code }) => code === 'large');
  if (oversized) throw new HttpError(400, `${formatJsonPath(oversized.path)} ${oversized.message}`);
  const refusedFindings = findings.filter((finding) => isRefusedFinding(finding, operation));
  return refusedFindings.length > 0 ? invalidBodyResponse(refusedFindings, operation) : undefined;
}

/** True for what the interface forbids, and for what real servers reject besides (docs/servers.md). */
function isRefusedFinding({ level, code, path }: Finding, { rejectsUnknownFields, body }: Operation): boolean {
  if (code === 'unknown') return rejectsUnknownFields === true && path.length === 1;
  if (code === 'advice' && isInPrintedRange(path, body)) return false;
  return level === 'error' || code === 'missing' || code === 'null' || code === 'advice';
}

// Integers between int64 and the range that the interface prints are warnings only.
function isInPrintedRange([name, ...inner]: JsonPath, body: Fields): boolean {
  const field = typeof name === 'string' && inner.length === 0 ? body[name] : undefined;
  return field?.type === 'integer' && typeof field.max === 'bigint';
}

/** Forwards chats to an upstream server byte for byte; only the upstream validates them. */
export function upstreamChatRoute(operation: Operation, upstream: Upstream, context: ServiceContext): ServiceRoute {
  return {
    method: 'POST',
    auth: operation.auth,
    errors: operation.errors,
    respond: async (request) => {
      requireJson(request);
      const maxBytes = Math.min(operation.largestBody, context.maxBodyBytes);
      const body = await collectBody(limitedChunks(request, maxBytes), maxBytes, declaredBodyBytes(request));
      return upstream(operation.path, { ...request, body });
    },
  };
}

/** `GET /v1/models`: the models of the upstream server, else the built-in one. */
export function modelsRoute({ upstream, now }: ServiceContext): ServiceRoute {
  const created = Math.floor(now() / 1000);
  const model = { id: localModelName, object: 'model', created, owned_by: 'svc' };
  const respond: ServiceRoute['respond'] = async (request) =>
    upstream
      ? upstream('/v1/models', { ...request, method: 'GET', body: new Uint8Array() })
      : jsonResponse(200, { object: 'list', data: [model] });
  return readRoute('bearer', respond, 'error');
}

const MAX_STORED_CHAT_BYTES = 4 * 1024 * 1024;

/** Stores the chats of a route for the page, up to 4 MiB in each direction; a failure to store is ignored. */
export function withStoredChats(
  route: ServiceRoute,
  { store, now, randomBytes }: Pick<ServiceContext, 'store' | 'now' | 'randomBytes'>,
): ServiceRoute {
  return {
    ...route,
    respond: (request, caller) => {
      const createdAt = now();
      const respond = (copied: typeof request) => route.respond(copied, caller);
      return sendWithCopies(request, respond, MAX_STORED_CHAT_BYTES, async (sent, response, received) => {
        if (!response) return;
        const id = uuidV7(createdAt, randomBytes(10));
        // PostgreSQL cannot store U+0000, which JSON text does not contain either.
        const [question = '', answer = ''] = [sent, received].map((body) => body.toString().replaceAll('\0', '\ufffd'));
        const chat = { id, request: question, response: answer, status: response.status, createdAt };
        await store.saveChat(chat).catch(() => {});
      });
    },
  };
}
