import { isHandshakeRefused } from '../errors.ts';
import { notifyBodyEnd, observeChunks } from './body-chunks.ts';
import type { HttpRequest, HttpResponse, Middleware, RequestBody, Send, StreamedBody } from './message.ts';

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

/** Keeps `progress` current from the start of each exchange; a sender takes the first chunk of a body once it is connected. */
export function withRequestProgress(progress: RequestProgress): Middleware {
  return (next) => async (request) => {
    const { body } = request;
    progress.phase = 'nothing';
    progress.sentBytes = 0;
    progress.attempts += 1;
    try {
      if (!(body instanceof Uint8Array) || body.length > CHUNK_BYTES)
        return await next({ ...request, body: { length: body.length, chunks: () => trackChunks(body, progress) } });
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

async function* trackChunks(body: RequestBody, progress: RequestProgress): AsyncGenerator<Uint8Array> {
  progress.phase = 'part';
  for await (const chunk of bodyChunks(body)) {
    progress.sentBytes += chunk.length;
    // Set before the last chunk is handed over, because nothing reports when it has left.
    if (progress.sentBytes === body.length) progress.phase = 'all';
    yield chunk;
  }
  progress.phase = 'all';
}

export function bodyChunks(body: RequestBody): AsyncIterable<Uint8Array> | Iterable<Uint8Array> {
  return body instanceof Uint8Array ? sliceChunks(body) : body.chunks();
}

function* sliceChunks(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
}

/** Stops a streamed body when a refusal arrives before it has left completely: the server would discard the rest. */
export const stopUploadOnRefusal: Middleware = (next) => (request) => {
  const { body } = request;
  return body instanceof Uint8Array ? next(request) : sendStoppable(request, body, next);
};

async function sendStoppable(
  request: HttpRequest,
  { length, chunks }: StreamedBody,
  next: Send,
): Promise<HttpResponse> {
  let isRefused = false;
  let onResponseEnd = (): void => {};
  const responseEnded = new Promise<void>((resolve) => {
    onResponseEnd = resolve;
  });
  const throwIfRefused = async (): Promise<void> => {
    if (!isRefused) return;
    // The connection has to last until the response was read.
    await responseEnded;
    throw new Error('the request was refused');
  };
  const stoppableBody = { length, chunks: () => observeChunks(chunks(), throwIfRefused) };
  const response = await next({ ...request, body: stoppableBody });
  isRefused = response.status >= 300;
  return notifyBodyEnd(response, async () => onResponseEnd());
}
