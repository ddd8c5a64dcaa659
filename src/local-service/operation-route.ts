import { Buffer } from 'node:buffer';
import { unescape as decodeUrlText } from 'node:querystring';
import type { Finding } from '../fields/finding.ts';
import { createBodyValidator } from '../fields/schema-validator.ts';
import { formatByteSize } from '../files/byte-size.ts';
import { bodyChunks, collectBody } from '../http/body-chunks.ts';
import { getHeader, type HttpRequest, type HttpResponse } from '../http/message.ts';
import { JsonError } from '../json/json-error.ts';
import { formatJsonPath, type JsonNode, rootOf } from '../json/json-node.ts';
import { parseJson } from '../json/parse-json.ts';
import type { JsonValue } from '../json/write-json.ts';
import type { Operation } from '../operations/operation.ts';
import { withPeriodicYields, yieldToEventLoop } from './event-loop.ts';
import { localModelName } from './model/chat-completion.ts';
import { fieldError, HttpError, invalidBodyResponse, jsonResponse, requestPath } from './responses.ts';
import type { Caller, Respond, ServiceContext } from './service-context.ts';

type BodyHandler = (body: JsonNode, caller: Caller, context: ServiceContext) => HttpResponse | Promise<HttpResponse>;

/** Responds to an operation whose body is buffered. */
export function bufferedResponder(handle: BodyHandler) {
  return (operation: Operation, context: ServiceContext): Respond => {
    const respond = createBodyResponder(handle, operation, context);
    return async (request, caller) => respond(await collectRequestBody(request, operation, context), caller);
  };
}

/** Returns a function that validates a body as the command line does it, before `handle` applies it. */
export function createBodyResponder(handle: BodyHandler, operation: Operation, context: ServiceContext) {
  const validate = createBodyValidator(operation);
  return async (bytes: Buffer, caller: Caller): Promise<HttpResponse> => {
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
}

export function invalidJsonFinding(offset: number, problem: string): Finding {
  return { path: [offset], level: 'error', code: 'invalid', message: `JSON decode error: ${problem}` };
}

/** The whole body of an operation; throws as receiveBody. */
export async function collectRequestBody(
  request: HttpRequest,
  operation: Operation,
  context: ServiceContext,
  isForwarded = false,
): Promise<Buffer> {
  const { body } = request;
  const { chunks, maxBytes } = receiveBody(request, operation, context, isForwarded);
  // The body of a request within this process need not be copied.
  if (body instanceof Uint8Array && body.length <= maxBytes)
    return Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  return collectBody(chunks, maxBytes, body.length);
}

/** The body of an operation, and its limit; only a body that is forwarded may be compressed. Throws HttpError 413 or 415. */
export function receiveBody(
  request: HttpRequest,
  operation: Operation,
  { maxBodyBytes }: ServiceContext,
  isForwarded = false,
): { readonly chunks: AsyncGenerator<Uint8Array>; readonly maxBytes: number } {
  const { headers } = request;
  const contentType = getHeader(headers, 'content-type') ?? '';
  const isUtf8 = !/;\s*charset\s*=\s*(?!"?utf-?8"?\s*(;|$))/i.test(contentType);
  // A web page could send other content types without asking.
  if (!/^application\/json\s*(;|$)/i.test(contentType) || !isUtf8)
    throw new HttpError(415, `Content-Type must be application/json in UTF-8, not ${JSON.stringify(contentType)}`);
  const encoding = getHeader(headers, 'content-encoding')?.trim();
  if (!isForwarded && encoding && encoding.toLowerCase() !== 'identity') {
    const message = `Content-Encoding ${JSON.stringify(encoding)} is not supported; send the body uncompressed`;
    throw new HttpError(415, message, [['Accept-Encoding', 'identity']]);
  }
  const maxBytes = Math.min(operation.maxBodyBytes, maxBodyBytes);
  return { chunks: limitedChunks(request, maxBytes), maxBytes };
}

/** A body that its sender did not complete; the sender waits for no response. */
export class IncompleteBodyError extends Error {
  override readonly name = 'IncompleteBodyError';
}

/** Throws HttpError 413 beyond `maxBytes`, at once if the length is known, and IncompleteBodyError if the chunks throw. */
export async function* limitedChunks(request: HttpRequest, maxBytes: number): AsyncGenerator<Uint8Array> {
  const tooLarge = (): HttpError => new HttpError(413, `the body may have at most ${formatByteSize(maxBytes)}`);
  const { body, signal } = request;
  if ((body.length ?? 0) > maxBytes) throw tooLarge();
  let length = 0;
  try {
    const whole = await ('whole' in body ? body.whole?.() : undefined);
    for await (const chunk of withPeriodicYields(whole ? [whole] : bodyChunks(body), signal)) {
      length += chunk.length;
      if (length > maxBytes) break;
      yield chunk;
    }
  } catch (error) {
    throw new IncompleteBodyError('the body is not complete', { cause: error });
  }
  if (length > maxBytes) throw tooLarge();
}

/** The response to a body with findings that a server rejects; undefined without them. May throw HttpError 400. */
export function refuseFindings(
  findings: readonly Finding[],
  operation: Operation,
  { checksRules }: ServiceContext,
): HttpResponse | undefined {
  const oversized = findings.find(({ code }) => code === 'large');
  if (oversized) throw fieldError(formatJsonPath(oversized.path), oversized.message);
  const refusedFindings = findings.filter((finding) => isRefusedFinding(finding, operation));
  if (refusedFindings.length > 0) return invalidBodyResponse(refusedFindings, operation);
  const broken = checksRules ? findings.find(({ code }) => code === 'rule') : undefined;
  if (broken) throw fieldError(formatJsonPath(broken.path), broken.message);
  return undefined;
}

// True for what the interface forbids, and for what real servers reject besides (docs/internals/servers.md).
function isRefusedFinding({ level, code, path }: Finding, { rejectsUnknownFields, body }: Operation): boolean {
  const [name] = path;
  if (code === 'unknown') return rejectsUnknownFields === true && path.length === 1;
  // Integers between int64 and the range that the interface prints are warnings only.
  const field = code === 'advice' && typeof name === 'string' && path.length === 1 ? body[name] : undefined;
  if (field?.type === 'integer' && typeof field.max === 'bigint') return false;
  return level === 'error' || code === 'missing' || code === 'null' || code === 'advice';
}

/** `GET /v1/models` and `GET /v1/models/{id}`: the models of the upstream server, else of the built-in model. */
export function modelsResponder({ upstream, models, now }: ServiceContext): Respond {
  const created = Math.floor(now() / 1000);
  const toModel = (id: string): JsonValue => ({ id, object: 'model', created, owned_by: 'svc' });
  return async (request) => {
    const path = requestPath(request);
    if (upstream) return upstream(`/${path.slice(1)}`, { ...request, method: 'GET', body: new Uint8Array() });
    const data = (models ?? [localModelName]).map(toModel);
    const [, id] = /^\/v1\/models\/(.*)$/s.exec(path) ?? [];
    if (id === undefined) return jsonResponse(200, { object: 'list', data });
    requireServedModel(decodeUrlText(id), models);
    return jsonResponse(200, toModel(decodeUrlText(id)));
  };
}

/** Throws HttpError 404 for a model that is not one of the served ones, if those are limited. */
export function requireServedModel(id: string, models: ServiceContext['models']): void {
  if (!models || models.includes(id)) return;
  throw new HttpError(404, `the model ${JSON.stringify(id)} is not served; available: ${models.join(', ')}`);
}
