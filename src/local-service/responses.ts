import { Buffer } from 'node:buffer';
import { errorMessage } from '../errors.ts';
import type { Finding } from '../fields/finding.ts';
import { errorCode } from '../files/file-errors.ts';
import type { ExchangeSignal, HttpHeaders, HttpRequest, HttpResponse } from '../http/message.ts';
import { formatJsonPath } from '../json/json-node.ts';
import { type JsonValue, writeJson } from '../json/write-json.ts';
import type { Operation } from '../operations/operation.ts';
import { withPeriodicYields } from './event-loop.ts';
import { StoreError } from './store/service-store.ts';

// Written and ended in one step; larger ones are not, because at shutdown Node closes a connection whose response has ended,
// although the client has not read all of it.
const MAX_COMPLETE_BYTES = 16 * 1024;

export function jsonResponse(status: number, value: JsonValue, headers: HttpHeaders = []): HttpResponse {
  return textResponse(status, Buffer.from(writeJson(value)), 'application/json', headers);
}

export function textResponse(
  status: number,
  body: Buffer,
  contentType: string,
  headers: HttpHeaders = [],
): HttpResponse {
  const contentHeaders: HttpHeaders = [
    ['Content-Type', contentType],
    ['Content-Length', String(body.length)],
  ];
  const response = { status, statusText: '', headers: [...contentHeaders, ...headers], body: chunksOf([body]) };
  return body.length <= MAX_COMPLETE_BYTES ? { ...response, completeBody: body } : response;
}

/** A stream of events, one for each value, then `[DONE]`. After some events its body throws the reason of a signal that is aborted. */
export function eventStreamResponse(values: Iterable<JsonValue>, signal: ExchangeSignal | undefined): HttpResponse {
  const headers: HttpHeaders = [
    ['Content-Type', 'text/event-stream; charset=utf-8'],
    ['Cache-Control', 'no-store'],
  ];
  const chunks = async function* (): AsyncGenerator<Uint8Array> {
    for await (const value of withPeriodicYields(values, signal)) yield Buffer.from(`data: ${writeJson(value)}\n\n`);
    yield Buffer.from('data: [DONE]\n\n');
  };
  return { status: 200, statusText: '', headers, body: chunks() };
}

async function* chunksOf(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

export class HttpError extends Error {
  override readonly name = 'HttpError';
  readonly status: number;
  readonly headers: HttpHeaders;
  /** The field of the body that is wrong. */
  readonly field: string | null;

  constructor(status: number, message: string, headers: HttpHeaders = [], field: string | null = null) {
    super(message);
    this.status = status;
    this.headers = headers;
    this.field = field;
  }
}

/** 400 for a field; the message begins with its name. */
export function fieldError(field: string, problem: string): HttpError {
  return new HttpError(400, `${field} ${problem}`, [], field);
}

export function httpErrorResponse(
  { status, message, headers, field }: HttpError,
  shape: Operation['errors'] | undefined,
): HttpResponse {
  return jsonResponse(status, shape === 'error' ? errorBody(status, message, field) : { detail: message }, headers);
}

/** 400 with the first finding, or 422 with all of them, as the operation reports errors. */
export function invalidBodyResponse(findings: readonly Finding[], operation: Operation): HttpResponse {
  const [first] = findings;
  if (operation.errors === 'error' && first) {
    // An error of the text as a whole has no field, only an offset.
    const name = typeof first.path[0] === 'string' ? formatJsonPath(first.path) : null;
    const { message, fact = message } = first;
    return jsonResponse(400, errorBody(400, name === null ? fact : `${name} ${fact}`, name));
  }
  const detail = findings.map(({ path, code, message, fact = message }) => {
    const loc = ['body', ...path];
    if (code === 'missing') return { loc, msg: 'Field required', type: 'missing' };
    return { loc, msg: fact, type: 'value_error' };
  });
  return jsonResponse(422, { detail });
}

function errorBody(status: number, message: string, param: string | null): JsonValue {
  const type = status === 401 ? 'authentication_error' : status >= 500 ? 'internal_error' : 'invalid_request_error';
  return { error: { message, type, param, code: status } };
}

const STORE_ERROR_STATUSES = { unsupported: 400, full: 507, busy: 503, lost: 503, unknown: 500 } as const;

/** Converts any error to an HTTP error: for the store 503 if a retry can help and 507 for a full disk, otherwise 500. */
export function toHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  if (['ENOSPC', 'EDQUOT'].includes(errorCode(error) ?? ''))
    return new HttpError(507, 'the disk of the service is full');
  const message = errorMessage(error);
  if (!(error instanceof StoreError)) return new HttpError(500, `internal error: ${message}`);
  const status = STORE_ERROR_STATUSES[error.reason];
  return new HttpError(status, message, status === 503 ? [['Retry-After', '1']] : []);
}

/** The path of a request, without its query. It is taken from the text, because parsing a URL takes longer. */
export function requestPath({ url }: Pick<HttpRequest, 'url'>): string {
  const start = url.indexOf('/', url.indexOf('://') + 3);
  return /^[^?#]*/.exec(url.slice(start))?.[0] ?? '/';
}
