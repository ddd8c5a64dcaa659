import { Buffer } from 'node:buffer';
import { getHeader, type Request, type Response, type Send } from '../http/message.ts';
import { bodyChunks } from '../http/request-progress.ts';
import { redactBody, redactResponseBody } from './redact-body.ts';
import { requestPath } from './responses.ts';

/** Copies the bytes of a body up to a limit. */
export function createBodyCopy(maxBytes: number): {
  readonly add: (chunk: Uint8Array) => void;
  readonly bytes: () => Buffer;
} {
  const chunks: Buffer[] = [];
  let length = 0;
  return {
    add: (chunk) => {
      if (length < maxBytes) chunks.push(Buffer.from(chunk.subarray(0, maxBytes - length)));
      length += chunk.length;
    },
    bytes: () => Buffer.concat(chunks),
  };
}

/**
 * Sends a request and copies its body, also one that is refused unread, and that of its response, each up to a limit and
 * without the secret fields of the request. `onEnd` is awaited before the end of the response, also if it is cut or
 * abandoned, and without a response if `send` throws. `isCut`: the body of the response threw.
 */
export async function sendWithCopies(
  request: Request,
  send: Send,
  maxBytes: number,
  onEnd: (sent: Buffer, response: Response | undefined, received: Buffer, isCut: boolean) => Promise<void>,
): Promise<Response> {
  const [sent, received] = [createBodyCopy(maxBytes), createBodyCopy(maxBytes)];
  const { body } = request;
  let isRead = false;
  const chunks = (): AsyncIterable<Uint8Array> => {
    isRead = true;
    return tapChunks(bodyChunks(body), sent.add, async () => {});
  };
  const copied = { length: body.length, chunks };
  const end = async (response: Response | undefined, isCut: boolean): Promise<void> => {
    // A client that got no 100 Continue sends no body. Waiting for one that is too large would delay its refusal.
    const canRead = getHeader(request.headers, 'expect') === undefined && (body.length ?? 0) <= maxBytes;
    if (!isRead && canRead) await readUpTo(maxBytes, chunks()).catch(() => {});
    const { body: redactedBody, secrets } = redactBody(requestPath(request), sent.bytes());
    return onEnd(redactedBody, response, redactResponseBody(received.bytes(), secrets), isCut);
  };
  try {
    const { completeBody: _, ...response } = await send({ ...request, body: copied });
    const length = Number(getHeader(response.headers, 'content-length') ?? Number.NaN);
    return { ...response, body: tapChunks(response.body, received.add, (isCut) => end(response, isCut), length) };
  } catch (error) {
    await end(undefined, false);
    throw error;
  }
}

async function readUpTo(maxBytes: number, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  let length = 0;
  for await (const chunk of chunks) {
    length += chunk.length;
    if (length >= maxBytes) return;
  }
}

// The same chunks; `onEnd` is awaited when they end, are cut or are abandoned, and before the last of `length` bytes: a
// client that has them does not wait for the end.
async function* tapChunks(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  onChunk: (chunk: Uint8Array) => void,
  onEnd: (isCut: boolean) => Promise<void>,
  length = Number.NaN,
): AsyncGenerator<Uint8Array> {
  let isCut = false;
  let isEnded = false;
  let remaining = length;
  try {
    for await (const chunk of chunks) {
      onChunk(chunk);
      remaining -= chunk.length;
      isEnded = remaining === 0;
      if (isEnded) await onEnd(false);
      yield chunk;
    }
  } catch (error) {
    isCut = true;
    throw error;
  } finally {
    if (!isEnded) await onEnd(isCut);
  }
}
