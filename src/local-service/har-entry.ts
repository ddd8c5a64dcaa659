import { type Buffer, isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { getHeader, type Headers, type Request, type Response } from '../http/message.ts';
import { itemsOf, type JsonNode, kindOf, membersOf, rawText, rootOf, stringOf } from '../json/json-node.ts';
import { parseJson } from '../json/parse-json.ts';
import type { JsonValue } from '../json/write-json.ts';
import { requestPath } from './responses.ts';

/** A request and its response, with their bodies; without a response if the connection ended before. */
export interface RecordedExchange {
  readonly startedAt: number;
  readonly durationMs: number;
  readonly request: Request;
  readonly sent: Buffer;
  readonly response: Response | undefined;
  readonly received: Buffer;
  /** The response was cut after these bytes. */
  readonly isCut: boolean;
}

// Credentials, cookies and all that is unknown stay out of a recording.
const REQUEST_HEADERS = ['content-type', 'accept', 'user-agent', 'traceparent'];
const RESPONSE_HEADERS = ['content-type', 'retry-after', 'x-request-id', 'allow', 'www-authenticate'];

/** An entry of HAR 1.2, without credentials and without a query. */
export function harEntry(exchange: RecordedExchange): JsonValue {
  const { startedAt, durationMs, request, sent, response, received, isCut } = exchange;
  const responseHeaders = response?.headers ?? [];
  const time = Math.round(durationMs * 1000) / 1000;
  const sizes = { headersSize: -1, cookies: [], httpVersion: 'HTTP/1.1' };
  return {
    startedDateTime: new Date(startedAt).toISOString(),
    time,
    request: {
      ...sizes,
      method: request.method,
      url: `http://localhost${requestPath(request)}`,
      headers: harHeaders(request.headers, REQUEST_HEADERS),
      queryString: [],
      bodySize: sent.length,
      ...(sent.length > 0 ? { postData: { mimeType: contentType(request.headers), ...bodyText(sent) } } : {}),
    },
    response: {
      ...sizes,
      status: response?.status ?? 0,
      statusText: '',
      headers: harHeaders(responseHeaders, RESPONSE_HEADERS),
      content: { size: received.length, mimeType: contentType(responseHeaders), ...bodyText(received) },
      redirectURL: '',
      bodySize: received.length,
      ...(isCut || !response ? { _cut: true } : {}),
    },
    cache: {},
    timings: { send: 0, wait: time, receive: 0 },
  };
}

// Ids of traces and spans are whole strings: a number such as a seed may have as many digits.
const GENERATED_VALUE =
  /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?<=")(?:[0-9a-f]{32}|[0-9a-f]{16})(?=")|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?/g;

/** The ids and times in a body, which clients generate for each request. */
export function generatedValues(body: string): string[] {
  return body.match(GENERATED_VALUE) ?? [];
}

/**
 * A body in the form in which replay compares it: JSON without whitespace, with sorted keys and with numbers as written;
 * any other body, and JSON that is nested too deeply, as it is.
 */
export function comparableBody(body: Buffer): string {
  try {
    return sortedJson(rootOf(parseJson(body)));
  } catch {
    return body.toString();
  }
}

function sortedJson(node: JsonNode): string {
  const kind = kindOf(node);
  if (kind === 'string') return JSON.stringify(stringOf(node));
  if (kind === 'list') return `[${Array.from(itemsOf(node), sortedJson).join(',')}]`;
  if (kind !== 'object') return rawText(node);
  const members = Array.from(membersOf(node), ({ key, value }) => {
    const name = JSON.stringify(key);
    // Names that clients generate keep their order.
    return { rank: withoutGeneratedValues(name), text: `${name}:${sortedJson(value)}` };
  });
  members.sort((left, right) => (left.rank < right.rank ? -1 : left.rank > right.rank ? 1 : 0));
  return `{${members.map(({ text }) => text).join(',')}}`;
}

function withoutGeneratedValues(body: string): string {
  return body.replace(GENERATED_VALUE, '<generated>');
}

/** What identifies a request: method, path, and comparable body except ids and times that clients generate. */
export function exchangeKey(method: string, path: string, body: string): string {
  const digest = createHash('sha256').update(withoutGeneratedValues(body)).digest('hex');
  return `${method} ${path} ${digest}`;
}

function harHeaders(headers: Headers, names: readonly string[]): JsonValue {
  return headers
    .filter(([name]) => names.includes(name.toLowerCase()))
    .map(([name, value]) => ({ name, value: value.replace(/[^\x20-\x7e]/g, '?') }));
}

function contentType(headers: Headers): string {
  return getHeader(headers, 'content-type') ?? '';
}

function bodyText(bytes: Buffer): { readonly text: string; readonly encoding?: string } {
  return isUtf8(bytes) ? { text: bytes.toString() } : { text: bytes.toString('base64'), encoding: 'base64' };
}
