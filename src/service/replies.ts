import { Buffer } from 'node:buffer';
import type { Headers, Reply } from '../http/message.ts';
import { type Json, writeJson } from '../json/write.ts';
import { everySoOften } from './turns.ts';

/** A reply that is JSON. */
export function jsonReply(status: number, value: Json, headers: Headers = []): Reply {
  const body = Buffer.from(writeJson(value));
  const own: Headers = [
    ['Content-Type', 'application/json'],
    ['Content-Length', String(body.length)],
  ];
  return { status, statusText: '', headers: [...own, ...headers], body: once(body) };
}

/** A reply that is a stream of events, one for each value, and `[DONE]`; it throws the reason of a signal that is aborted. */
export function eventReply(values: Iterable<Json>, signal: AbortSignal | undefined): Reply {
  const headers: Headers = [
    ['Content-Type', 'text/event-stream; charset=utf-8'],
    ['Cache-Control', 'no-store'],
  ];
  return { status: 200, statusText: '', headers, body: events(everySoOften(values, signal)) };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

async function* events(values: AsyncIterable<Json>): AsyncGenerator<Uint8Array> {
  for await (const value of values) yield Buffer.from(`data: ${writeJson(value)}\n\n`);
  yield Buffer.from('data: [DONE]\n\n');
}
