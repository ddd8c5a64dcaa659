import { unescape as decodeUrlText } from 'node:querystring';
import type { Fields } from '../fields/field.ts';
import type { Finding } from '../fields/finding.ts';
import { uuidV7 } from '../fields/uuid.ts';
import { getHeader, type HttpRequest, type HttpResponse } from '../http/message.ts';
import { collectBody } from '../http/size-limits.ts';
import { formatJsonPath, type JsonPath } from '../json/json-node.ts';
import type { JsonValue } from '../json/write-json.ts';
import type { Operation } from '../operations/operation.ts';
import { sendWithCopies } from './body-copy.ts';
import { yieldAfterWork } from './event-loop.ts';
import { localModelName } from './model/chat-completion.ts';
import { declaredBodyBytes, limitedChunks } from './request-body.ts';
import { HttpError, invalidBodyResponse, jsonResponse, requestPath } from './responses.ts';
import { type BodyReceiver, readRoute, type ServiceContext, type ServiceRoute } from './service-context.ts';
import { insertRows } from './store/service-store.ts';
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
      return receive(limitedChunks(request, maxBytes), length, caller, context, async (findings) => {
        const refusal = validationResponse(findings, operation, context);
        await yieldAfterWork(length, caller.signal);
        return refusal;
      });
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

function validationResponse(
  findings: readonly Finding[],
  operation: Operation,
  { checksRules }: ServiceContext,
): HttpResponse | undefined {
  const oversized = findings.find(({ code }) => code === 'large');
  if (oversized) throw new HttpError(400, `${formatJsonPath(oversized.path)} ${oversized.message}`);
  const refusedFindings = findings.filter((finding) => isRefusedFinding(finding, operation));
  if (refusedFindings.length > 0) return invalidBodyResponse(refusedFindings, operation);
  const broken = checksRules ? findings.find(({ code }) => code === 'rule') : undefined;
  if (broken) throw new HttpError(400, `${formatJsonPath(broken.path)} ${broken.message}`);
  return undefined;
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

/** The path of the list of models; below it, each model has its own. */
export const modelsPath = '/v1/models';

/** True for the path of the models or of one model. A path with `..`, which would lead elsewhere on an upstream server, is none. */
export function isModelsPath(path: string): boolean {
  if (path === modelsPath) return true;
  return path.startsWith(`${modelsPath}/`) && new URL(path, 'http://localhost').pathname === path;
}

/** `GET /v1/models` and `GET /v1/models/{id}`: the models of the upstream server, else of the built-in model. */
export function modelsRoute({ upstream, models, now }: ServiceContext): ServiceRoute {
  const created = Math.floor(now() / 1000);
  const toModel = (id: string): JsonValue => ({ id, object: 'model', created, owned_by: 'svc' });
  const respond: ServiceRoute['respond'] = async (request) => {
    const path = requestPath(request);
    if (upstream) return upstream(`/${path.slice(1)}`, { ...request, method: 'GET', body: new Uint8Array() });
    const data = (models ?? [localModelName]).map(toModel);
    if (path === modelsPath) return jsonResponse(200, { object: 'list', data });
    const id = decodeUrlText(path.slice(modelsPath.length + 1));
    requireServedModel(id, models);
    return jsonResponse(200, toModel(id));
  };
  return readRoute('bearer', respond, 'error');
}

/** Throws HttpError 404 for a model that is not one of the served ones, if those are limited. */
export function requireServedModel(id: string, models: ServiceContext['models']): void {
  if (!models || models.includes(id)) return;
  throw new HttpError(404, `the model ${JSON.stringify(id)} is not served; available: ${models.join(', ')}`);
}

const MAX_STORED_CHAT_BYTES = 4 * 1024 * 1024;

/** Stores the chats of a route for the page, up to 4 MiB in each direction; a failure to store is ignored. */
export function withStoredChats(
  route: ServiceRoute,
  { store, now, elapsed, randomBytes }: Pick<ServiceContext, 'store' | 'now' | 'elapsed' | 'randomBytes'>,
): ServiceRoute {
  return {
    ...route,
    respond: (request, caller) => {
      const [createdAt, startedMs] = [now(), elapsed()];
      const respond = (copied: typeof request) => route.respond(copied, caller);
      return sendWithCopies(request, respond, MAX_STORED_CHAT_BYTES, async (sent, response, received) => {
        if (!response) return;
        const id = uuidV7(createdAt, randomBytes(10));
        // PostgreSQL cannot store U+0000, which JSON text does not contain either.
        const [question = '', answer = ''] = [sent, received].map((body) => body.toString().replaceAll('\0', '\ufffd'));
        const { status } = response;
        const times = { created_at: createdAt, duration_ms: Math.round(elapsed() - startedMs) };
        const chat = { id, request: question, response: answer, status, ...times };
        await store.commit(() => insertRows('chats', [chat])).catch(() => {});
      });
    },
  };
}
