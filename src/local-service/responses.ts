import { Buffer } from 'node:buffer';
import type { ExchangeSignal } from '../http/exchange-signal.ts';
import type { Headers, Response } from '../http/message.ts';
import { type JsonValue, writeJson } from '../json/write-json.ts';
import { withPeriodicYields } from './event-loop.ts';

// A response that is written and ended in one step must be small: at shutdown Node closes a connection whose response has ended, although
// the client has not read all of it.
const MAX_COMPLETE_BYTES = 16 * 1024;

/** A response with a JSON body. */
export function jsonResponse(status: number, value: JsonValue, headers: Headers = []): Response {
  return textResponse(status, Buffer.from(writeJson(value)), 'application/json', headers);
}

/** A response with a body of text in UTF-8. */
export function textResponse(status: number, body: Buffer, contentType: string, headers: Headers = []): Response {
  const contentHeaders: Headers = [
    ['Content-Type', contentType],
    ['Content-Length', String(body.length)],
  ];
  const response = { status, statusText: '', headers: [...contentHeaders, ...headers], body: singleChunk(body) };
  return body.length <= MAX_COMPLETE_BYTES ? { ...response, completeBody: body } : response;
}

/** A stream of events, one for each value, then `[DONE]`. After some events its body throws the reason of a signal that is aborted. */
export function eventStreamResponse(values: Iterable<JsonValue>, signal: ExchangeSignal | undefined): Response {
  const headers: Headers = [
    ['Content-Type', 'text/event-stream; charset=utf-8'],
    ['Cache-Control', 'no-store'],
  ];
  return { status: 200, statusText: '', headers, body: eventChunks(withPeriodicYields(values, signal)) };
}

async function* singleChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

async function* eventChunks(values: AsyncIterable<JsonValue>): AsyncGenerator<Uint8Array> {
  for await (const value of values) yield Buffer.from(`data: ${writeJson(value)}\n\n`);
  yield Buffer.from('data: [DONE]\n\n');
}
