import { isHandshakeRefused } from '../errors.ts';
import { notifyBodyEnd } from './body-chunks.ts';
import type { HttpRequest, HttpResponse, Middleware, RequestBody, Send } from './message.ts';

/**
 * How far a request has come. `nothing`: connect or TLS did not finish. `part`: the body has begun to leave. `all`: its
 * last byte was handed over, so the server may have acted on it.
 */
export interface RequestProgress {
  phase: 'nothing' | 'part' | 'all';
  sentBytes: number;
  /** Exchanges begun; the other fields describe the last one. */
  attempts: number;
}

export function createRequestProgress(): RequestProgress {
  return { phase: 'nothing', sentBytes: 0, attempts: 0 };
}

// Small enough to know that a request that was cut early is incomplete.
const CHUNK_BYTES = 64 * 1024;

/**
 * Keeps `progress` current from the start of each exchange; a sender takes the first chunk of a body once it is connected.
 * Stops a streamed body when a refusal arrives before it has left completely: the server would discard the rest.
 */
export function withRequestProgress(progress: RequestProgress): Middleware {
  return (next) => async (request) => {
    const { body } = request;
    progress.phase = 'nothing';
    progress.sentBytes = 0;
    progress.attempts += 1;
    try {
      if (!(body instanceof Uint8Array) || body.length > CHUNK_BYTES)
        return await sendStoppable(request, progress, next);
      const onBodySent = (): void => {
        progress.phase = 'all';
        progress.sentBytes = body.length;
      };
      const response = await next({ ...request, onBodySent });
      // A request with a response has left.
      onBodySent();
      return response;
    } catch (error) {
      if (isHandshakeRefused(error)) Object.assign(progress, { phase: 'nothing', sentBytes: 0 });
      throw error;
    }
  };
}

async function sendStoppable(request: HttpRequest, progress: RequestProgress, next: Send): Promise<HttpResponse> {
  const { body } = request;
  let isRefused = false;
  let onResponseEnd = (): void => {};
  const responseEnded = new Promise<void>((resolve) => {
    onResponseEnd = resolve;
  });
  const chunks = async function* (): AsyncGenerator<Uint8Array> {
    progress.phase = 'part';
    for await (const chunk of bodyChunks(body)) {
      progress.sentBytes += chunk.length;
      // Set before the last chunk is handed over, because nothing reports when it has left.
      if (progress.sentBytes === body.length) progress.phase = 'all';
      if (isRefused) {
        // The connection has to last until the response was read.
        await responseEnded;
        throw new Error('the request was refused');
      }
      yield chunk;
    }
    progress.phase = 'all';
  };
  const response = await next({ ...request, body: { length: body.length, chunks } });
  isRefused = response.status >= 300;
  return notifyBodyEnd(response, async () => onResponseEnd());
}

export function bodyChunks(body: RequestBody): AsyncIterable<Uint8Array> | Iterable<Uint8Array> {
  return body instanceof Uint8Array ? sliceChunks(body) : body.chunks();
}

function* sliceChunks(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
}
