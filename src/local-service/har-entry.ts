import { type Buffer, isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { getHeader, type Headers } from '../http/message.ts';
import type { JsonValue } from '../json/write-json.ts';

/** A request and its response, as svc records and replays them. */
export interface RecordedExchange {
  readonly startedAt: number;
  readonly durationMs: number;
  readonly method: string;
  readonly path: string;
  readonly requestHeaders: Headers;
  readonly requestBody: Buffer;
  /** 0 where the connection ended without a response. */
  readonly status: number;
  readonly responseHeaders: Headers;
  readonly responseBody: Buffer;
}

// Credentials, cookies and all that is unknown stay out of a recording.
const REQUEST_HEADERS = ['content-type', 'accept', 'user-agent', 'traceparent'];
const RESPONSE_HEADERS = ['content-type', 'retry-after', 'x-request-id', 'allow', 'www-authenticate'];

/** An entry of HAR 1.2, without credentials and without a query. */
export function harEntry(exchange: RecordedExchange): JsonValue {
  const { startedAt, durationMs, method, path, requestBody, status, responseBody } = exchange;
  const responseType = getHeader(exchange.responseHeaders, 'content-type') ?? '';
  const requestType = getHeader(exchange.requestHeaders, 'content-type') ?? '';
  const time = Math.round(durationMs * 1000) / 1000;
  const sizes = { headersSize: -1, cookies: [], httpVersion: 'HTTP/1.1' };
  return {
    startedDateTime: new Date(startedAt).toISOString(),
    time,
    request: {
      ...sizes,
      method,
      url: `http://localhost${path}`,
      headers: harHeaders(exchange.requestHeaders, REQUEST_HEADERS),
      queryString: [],
      bodySize: requestBody.length,
      ...(requestBody.length > 0 ? { postData: { mimeType: requestType, ...bodyText(requestBody) } } : {}),
    },
    response: {
      ...sizes,
      status,
      statusText: '',
      headers: harHeaders(exchange.responseHeaders, RESPONSE_HEADERS),
      content: { size: responseBody.length, mimeType: responseType, ...bodyText(responseBody) },
      redirectURL: '',
      bodySize: responseBody.length,
    },
    cache: {},
    timings: { send: 0, wait: time, receive: 0 },
  };
}

const GENERATED_VALUE =
  /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b(?:[0-9a-f]{32}|[0-9a-f]{16})\b|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?/g;

/** The ids and times in a body, which clients generate for each request. */
export function generatedValues(body: string): string[] {
  return body.match(GENERATED_VALUE) ?? [];
}

/** What identifies a request: method, path, and body except ids and times that clients generate. */
export function exchangeKey(method: string, path: string, body: string): string {
  const digest = createHash('sha256').update(body.replace(GENERATED_VALUE, '<generated>')).digest('hex');
  return `${method} ${path} ${digest}`;
}

function harHeaders(headers: Headers, names: readonly string[]): JsonValue {
  return headers
    .filter(([name]) => names.includes(name.toLowerCase()))
    .map(([name, value]) => ({ name, value: withoutControls(value) }));
}

function withoutControls(value: string): string {
  return value.replace(/[^\x20-\x7e]/g, '?');
}

function bodyText(bytes: Buffer): { readonly text: string; readonly encoding?: string } {
  return isUtf8(bytes) ? { text: bytes.toString() } : { text: bytes.toString('base64'), encoding: 'base64' };
}
