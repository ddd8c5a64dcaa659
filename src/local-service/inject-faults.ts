import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream';
import { constants, createBrotliCompress, createDeflate, createDeflateRaw, createGzip } from 'node:zlib';
import { collectBody, notifyBodyEnd } from '../http/body-chunks.ts';
import { readEventStream } from '../http/event-stream.ts';
import {
  getHeader,
  type HttpHeaders,
  type HttpRequest,
  type HttpResponse,
  type Middleware,
  type Send,
} from '../http/message.ts';
import { abortableDelay } from '../http/time-limits.ts';
import { firstStringMember } from '../json/json-node.ts';
import { tryParseJson } from '../json/parse-json.ts';
import { operationAt } from '../operations/all-operations.ts';
import type { Runtime } from '../runtime.ts';
import { sendWithCopies } from './body-copy.ts';
import { yieldToEventLoop } from './event-loop.ts';
import type { FaultRule } from './fault-rule.ts';
import { HttpError, httpErrorResponse, jsonResponse, requestPath, textResponse } from './responses.ts';

/** Thrown instead of a response: the connection is reset, as by a server that crashes. */
export class ConnectionResetError extends Error {
  override readonly name = 'ConnectionResetError';
}

/** Injects faults into the operations (`--fault`). The first rule that applies to a request decides. */
export function withFaults(
  rules: readonly FaultRule[],
  { after, elapsed }: Pick<Runtime, 'after' | 'elapsed'>,
  deleteFeedback: (project: string, id: string) => Promise<void>,
): Middleware {
  const selections = rules.map(createSelection);
  return (next) => async (request) => {
    const path = requestPath(request);
    const operation = operationAt(path);
    const [selected] = operation ? selections.flatMap((select) => select(path, request.headers, elapsed()) ?? []) : [];
    if (!operation || !selected) return next(request);
    const { rule, number, load } = selected;
    let waits = 0;
    const wait: Wait = async (milliseconds) => {
      waits += 1;
      const shift = rule.jitter * (2 * shareOf(`${rule.seed}:${number}:${waits}`) - 1);
      const delayMs = milliseconds * (1 + shift) * Math.max(1, load.inFlight / rule.knee);
      if (delayMs > 0) await abortableDelay(delayMs, after, request.signal);
    };
    const respond: Send = async (sent) => {
      await wait(rule.delayMs + rule.firstTokenMs);
      if (rule.reset === 'before') throw new ConnectionResetError('reset by --fault before the request was applied');
      if (rule.isCompleteMode) return completeModeResponse();
      if (rule.status !== undefined) {
        const headers = rule.retryAfter === undefined ? [] : [['Retry-After', rule.retryAfter] as const];
        return httpErrorResponse(new HttpError(rule.status, 'injected by --fault', headers), operation.errors);
      }
      const response = await editResponse(await next(sent), rule, wait);
      if (rule.reset === 'after') throw new ConnectionResetError('reset by --fault after the request was applied');
      return response;
    };
    const play: Send = async (sent) => {
      const played = await respond(sent);
      const response = rule.encodings.length > 0 ? encodeResponse(played, rule.encodings) : played;
      if (rule.cutBytes === undefined) return response;
      return { ...response, body: cutBody(response.body, rule.cutBytes), completeBody: undefined };
    };
    if (load.inFlight >= rule.capacity) return queueFullResponse();
    if (!rule.deletesOldFeedback) return whileInFlight(load, request, play);
    // As a server that deletes the old record before its last checks (docs/internals/servers.md): before a 400, 5xx or lost response.
    const playAndDelete: Send = (original) =>
      sendWithCopies(original, play, operation.maxBodyBytes, async (sent, response) => {
        const isDeleted = response ? response.status === 400 || response.status >= 500 : rule.reset === 'before';
        const body = isDeleted ? tryParseJson(sent) : undefined;
        const [project, id] = ['project_id', 'feedback_id'].map((name) => body && firstStringMember(body, name));
        if (project !== undefined && id !== undefined) await deleteFeedback(project, id);
      });
    return whileInFlight(load, request, playAndDelete);
  };
}

interface Load {
  inFlight: number;
}

// Counts a request until its response has ended or its client is gone.
async function whileInFlight(load: Load, request: HttpRequest, send: Send): Promise<HttpResponse> {
  load.inFlight += 1;
  let isOver = false;
  const leave = (): void => {
    if (!isOver) load.inFlight -= 1;
    isOver = true;
  };
  request.signal?.addEventListener('abort', leave, { once: true });
  try {
    return await notifyBodyEnd(await send(request), async () => leave());
  } catch (error) {
    leave();
    throw error;
  }
}

// Returns the rule for requests that it selects, and how many matched it before; undefined for others.
function createSelection(rule: FaultRule) {
  const { header, every, first, chance, seed, rate, retryAfter } = rule;
  const load: Load = { inFlight: 0 };
  let matched = 0;
  let windowStart = Number.NEGATIVE_INFINITY;
  let windowCount = 0;
  return (path: string, headers: HttpHeaders, now: number) => {
    if (rule.path !== undefined && rule.path !== path) return undefined;
    const value = header && getHeader(headers, header.name);
    if (header && (value === undefined || (header.value !== undefined && header.value !== value))) return undefined;
    matched += 1;
    if (matched % every !== 0 || matched > first) return undefined;
    if (chance < 1 && shareOf(`${seed}:${matched}`) >= chance) return undefined;
    if (!rate) return { rule, load, number: matched };
    if (now >= windowStart + rate.periodMs) [windowStart, windowCount] = [now, 0];
    windowCount += 1;
    if (windowCount <= rate.count) return undefined;
    const seconds = Math.max(1, Math.ceil((windowStart + rate.periodMs - now) / 1000));
    return { rule: { ...rule, retryAfter: retryAfter ?? String(seconds) }, load, number: matched };
  };
}

// From 0 to below 1, the same for the same text on every machine.
function shareOf(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE(0) / 2 ** 32;
}

export async function* cutBody(body: HttpResponse['body'], maxBytes: number): AsyncGenerator<Uint8Array> {
  let remaining = maxBytes;
  for await (const chunk of body) {
    yield chunk.subarray(0, remaining);
    remaining -= chunk.length;
    if (remaining > 0) continue;
    // Flush the written bytes before the connection ends.
    await yieldToEventLoop(undefined);
    throw new Error(`cut by --fault after ${maxBytes} bytes`);
  }
}

// The response of vLLM with a full queue (docs/internals/servers.md).
function queueFullResponse(): HttpResponse {
  const message = 'The engine is currently busy and cannot accept new requests. Please retry later.';
  return jsonResponse(503, { error: { message, type: 'Service Unavailable', param: null, code: 503 } });
}

function completeModeResponse(): HttpResponse {
  const reason = 'the project takes only complete calls (--fault complete-mode)';
  return jsonResponse(400, { reason, error_code: 'CALLS_COMPLETE_MODE_REQUIRED' });
}

/** Waits for a time to which a rule adds what its load and its jitter ask for. */
type Wait = (milliseconds: number) => Promise<void>;

/** A chat completion or a chunk of one, as far as rules edit it. */
interface Completion {
  readonly choices?: readonly Choice[];
  readonly usage?: { readonly completion_tokens?: number } | null;
}

interface Choice {
  readonly finish_reason?: string | null;
  readonly [message: string]: unknown;
}

const MAX_EDITED_BYTES = 256 * 1024 * 1024;

// A success as a rule changes it.
async function editResponse(response: HttpResponse, rule: FaultRule, wait: Wait): Promise<HttpResponse> {
  const { errorUnderSuccess, finishReason, hasAzureChunk, hasUnknownFields, tokenMs } = rule;
  const isEdited = errorUnderSuccess ?? finishReason ?? (hasAzureChunk || hasUnknownFields || tokenMs > 0);
  if (response.status !== 200 || !isEdited) return response;
  const type = getHeader(response.headers, 'content-type') ?? '';
  const headers = withoutHeaders(response, /^content-(type|length)$/i);
  if (type.startsWith('text/event-stream')) {
    const body = editEvents(response.body, rule, wait);
    return { ...response, headers: [['Content-Type', type], ...headers], body, completeBody: undefined };
  }
  const bytes = await collectBody(response.body, MAX_EDITED_BYTES);
  const completion: Completion = JSON.parse(bytes.toString());
  // The first token has been waited for.
  await wait(tokenMs * ((completion.usage?.completion_tokens ?? 1) - 1));
  return textResponse(200, Buffer.from(editText(bytes.toString(), rule)), type, headers);
}

async function* editEvents(body: HttpResponse['body'], rule: FaultRule, wait: Wait): AsyncGenerator<Uint8Array> {
  const toEvent = (data: string): Buffer => Buffer.from(`data: ${data.replaceAll('\n', '\ndata: ')}\n\n`);
  if (rule.hasAzureChunk)
    yield toEvent('{"id":"","object":"","created":0,"model":"","choices":[],"prompt_filter_results":[]}');
  let count = 0;
  for await (const { data } of readEventStream(body)) {
    const isEnd = data === '[DONE]';
    if (count > 0 && !isEnd) await wait(rule.tokenMs);
    if (count > 0 && !isEnd && rule.errorUnderSuccess !== undefined) continue;
    count += 1;
    yield toEvent(isEnd ? data : editText(data, rule));
  }
}

// The JSON text of a completion or a chunk as a rule changes it.
function editText(text: string, { errorUnderSuccess, finishReason, hasUnknownFields }: FaultRule): string {
  const message = 'injected by --fault';
  if (errorUnderSuccess !== undefined) {
    const code = /^\d+$/.test(errorUnderSuccess) ? Number(errorUnderSuccess) : errorUnderSuccess;
    return JSON.stringify({ error: { message, type: 'server_error', param: null, code } });
  }
  if (finishReason === undefined && !hasUnknownFields) return text;
  const completion: Completion = JSON.parse(text);
  const choices = completion.choices?.map((choice) => {
    const failed =
      finishReason !== undefined && choice.finish_reason ? { finish_reason: finishReason, error: { message } } : {};
    return { ...choice, ...(hasUnknownFields ? withUnknownFields(choice) : {}), ...failed };
  });
  return JSON.stringify({ ...completion, choices });
}

// The text of a message or delta again, in fields that no interface has.
function withUnknownFields(choice: Choice): Choice {
  return Object.fromEntries(
    ['message', 'delta'].flatMap((name) => {
      const part = Object(choice[name]);
      const { content } = part;
      if (!content) return [];
      return [[name, { ...part, unknown_text: content, unknown_items: [{ index: 0, text: content }] }]];
    }),
  );
}

const flush = { flush: constants.Z_SYNC_FLUSH };
const encoders = new Map([
  ['gzip', () => createGzip(flush)],
  ['deflate', () => createDeflate(flush)],
  ['raw-deflate', () => createDeflateRaw(flush)],
  ['br', () => createBrotliCompress({ flush: constants.BROTLI_OPERATION_FLUSH })],
]);

// In the order in which they are applied, which is that of the header.
function encodeResponse(response: HttpResponse, names: readonly string[]): HttpResponse {
  const named = names.map((name) => (name === 'raw-deflate' ? 'deflate' : name)).join(', ');
  const headers: HttpHeaders = [
    ...withoutHeaders(response, /^content-(length|encoding)$/i),
    ['Content-Encoding', named],
  ];
  const body = names.reduce<HttpResponse['body']>((chunks, name) => {
    const encoder = encoders.get(name)?.();
    // What fails is thrown to the reader of the encoder.
    return encoder ? pipeline(chunks, encoder, () => {}) : chunks;
  }, response.body);
  return { ...response, headers, body, completeBody: undefined };
}

function withoutHeaders({ headers }: HttpResponse, names: RegExp): HttpHeaders {
  return headers.filter(([name]) => !names.test(name));
}
