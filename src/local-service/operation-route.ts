import { unescape as decodeUrlText } from 'node:querystring';
import type { Finding } from '../fields/finding.ts';
import { createBodyValidator } from '../fields/schema-validator.ts';
import { uuidV7 } from '../fields/uuid.ts';
import { formatByteSize } from '../files/byte-size.ts';
import { bodyChunks } from '../http/body-chunks.ts';
import { getHeader, type HttpRequest, type HttpResponse } from '../http/message.ts';
import { collectBody } from '../http/size-limits.ts';
import { JsonError } from '../json/json-error.ts';
import { formatJsonPath, type JsonNode, rootOf } from '../json/json-node.ts';
import { parseJson } from '../json/parse-json.ts';
import type { JsonValue } from '../json/write-json.ts';
import type { Operation } from '../operations/operation.ts';
import { sendWithCopies } from './body-copy.ts';
import { withPeriodicYields, yieldToEventLoop } from './event-loop.ts';
import { localModelName } from './model/chat-completion.ts';
import { HttpError, invalidBodyResponse, jsonResponse, requestPath } from './responses.ts';
import { type Caller, readRoute, type ServiceContext, type ServiceRoute } from './service-context.ts';
import { insertRows } from './store/service-store.ts';
import type { Upstream } from './upstream.ts';

type Respond = ServiceRoute['respond'];

/** Responds to an operation whose body is buffered and validated as the command line does it before `handle` applies it. */
export function withBufferedBody(
  handle: (body: JsonNode, caller: Caller, context: ServiceContext) => HttpResponse | Promise<HttpResponse>,
): (operation: Operation, context: ServiceContext) => Respond {
  return (operation, context) => {
    const validate = createBodyValidator(operation);
    return async (request, caller) => {
      const bytes = await collectBody(...receiveBody(request, operation, context));
      let body: JsonNode;
      try {
        body = rootOf(parseJson(bytes));
      } catch (error) {
        if (!(error instanceof JsonError)) throw error;
        return invalidBodyResponse([invalidJsonFinding(error.offset, error.message)], operation);
      }
      await yieldToEventLoop(caller.signal, bytes.length);
      const refusal = refuseFindings(validate(body), operation, context);
      await yieldToEventLoop(caller.signal, bytes.length);
      return refusal ?? handle(body, caller, context);
    };
  };
}

export function invalidJsonFinding(offset: number, problem: string): Finding {
  return { path: [offset], level: 'error', code: 'invalid', message: `JSON decode error: ${problem}` };
}

/** The body of an operation, its limit, and its declared length. Throws HttpError 413 or 415. */
export function receiveBody(
  request: HttpRequest,
  operation: Operation,
  { maxBodyBytes }: ServiceContext,
): [chunks: AsyncGenerator<Uint8Array>, maxBytes: number, length: number] {
  requireJson(request);
  requireIdentityEncoding(request);
  const maxBytes = Math.min(operation.maxBodyBytes, maxBodyBytes);
  return [limitedChunks(request, maxBytes), maxBytes, declaredBodyBytes(request)];
}

// The size of a body in bytes that its request declares; 0 if it declares none.
function declaredBodyBytes({ headers, body }: HttpRequest): number {
  return body.length ?? Number(getHeader(headers, 'content-length') ?? 0);
}

/** A body that its sender did not complete; the sender waits for no response. */
export class IncompleteBodyError extends Error {
  override readonly name = 'IncompleteBodyError';
  readonly reason: unknown;

  constructor(reason: unknown) {
    super('the body is not complete');
    this.reason = reason;
  }
}

/** Throws HttpError 413 beyond `maxBytes`, at once if the length is known, and IncompleteBodyError if the chunks throw. */
export async function* limitedChunks(request: HttpRequest, maxBytes: number): AsyncGenerator<Uint8Array> {
  const tooLarge = (): HttpError => new HttpError(413, `the body may have at most ${formatByteSize(maxBytes)}`);
  if (declaredBodyBytes(request) > maxBytes) throw tooLarge();
  const { body, signal } = request;
  let length = 0;
  try {
    const whole = await ('whole' in body ? body.whole?.() : undefined);
    for await (const chunk of withPeriodicYields(whole ? [whole] : bodyChunks(body), signal)) {
      length += chunk.length;
      if (length > maxBytes) break;
      yield chunk;
    }
  } catch (error) {
    throw new IncompleteBodyError(error);
  }
  if (length > maxBytes) throw tooLarge();
}

// Refuses other content types, which a web page could send without asking, and other charsets.
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

/** The response to a body with findings that a server rejects; undefined without them. May throw HttpError 400. */
export function refuseFindings(
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

// True for what the interface forbids, and for what real servers reject besides (docs/servers.md).
function isRefusedFinding({ level, code, path }: Finding, { rejectsUnknownFields, body }: Operation): boolean {
  const [name] = path;
  if (code === 'unknown') return rejectsUnknownFields === true && path.length === 1;
  // Integers between int64 and the range that the interface prints are warnings only.
  const field = code === 'advice' && typeof name === 'string' && path.length === 1 ? body[name] : undefined;
  if (field?.type === 'integer' && typeof field.max === 'bigint') return false;
  return level === 'error' || code === 'missing' || code === 'null' || code === 'advice';
}

/** Forwards chats to an upstream server byte for byte; only the upstream validates them. */
export function forwardToUpstream(operation: Operation, upstream: Upstream, { maxBodyBytes }: ServiceContext): Respond {
  return async (request) => {
    requireJson(request);
    const maxBytes = Math.min(operation.maxBodyBytes, maxBodyBytes);
    const body = await collectBody(limitedChunks(request, maxBytes), maxBytes, declaredBodyBytes(request));
    return upstream(operation.path, { ...request, body });
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

/** Stores chats for the page, up to 4 MiB in each direction; a failure to store is ignored. */
export function withStoredChats(respond: Respond, { store, now, elapsed, randomBytes }: ServiceContext): Respond {
  return (request, caller) => {
    const [createdAt, startedMs] = [now(), elapsed()];
    const respondToCopy = (copied: typeof request) => respond(copied, caller);
    return sendWithCopies(request, respondToCopy, MAX_STORED_CHAT_BYTES, async (sent, response, received) => {
      if (!response) return;
      const id = uuidV7(createdAt, randomBytes(10));
      // PostgreSQL cannot store U+0000, which JSON text does not contain either.
      const [question = '', answer = ''] = [sent, received].map((body) => body.toString().replaceAll('\0', '\ufffd'));
      const { status } = response;
      const times = { created_at: createdAt, duration_ms: Math.round(elapsed() - startedMs) };
      const chat = { id, request: question, response: answer, status, ...times };
      await store.commit(() => insertRows('chats', [chat])).catch(() => {});
    });
  };
}
