import type { Buffer } from 'node:buffer';
import type { Finding } from '../fields/finding.ts';
import { formatByteSize } from '../files/byte-size.ts';
import { bodyChunks } from '../http/body-chunks.ts';
import { getHeader, type HttpRequest } from '../http/message.ts';
import { JsonError } from '../json/json-error.ts';
import { type JsonNode, rootOf } from '../json/json-node.ts';
import { parseJson } from '../json/parse-json.ts';
import { withPeriodicYields } from './event-loop.ts';
import { HttpError } from './responses.ts';

/** The size of a body in bytes that its request declares; 0 if it declares none. */
export function declaredBodyBytes({ headers, body }: HttpRequest): number {
  return body.length ?? Number(getHeader(headers, 'content-length') ?? 0);
}

/** A body that its sender did not complete; the sender waits for no response. */
export class IncompleteBodyError extends Error {
  override readonly name = 'IncompleteBodyError';
  readonly reason: unknown;

  constructor(reason: unknown) {
    super('the body is not complete');
    this.reason = reason;
  }
}

/** Throws HttpError 413 beyond `maxBytes`, at once if the length is known, and IncompleteBodyError if the chunks throw. */
export async function* limitedChunks(request: HttpRequest, maxBytes: number): AsyncGenerator<Uint8Array> {
  const tooLarge = (): HttpError => new HttpError(413, `the body may have at most ${formatByteSize(maxBytes)}`);
  if (declaredBodyBytes(request) > maxBytes) throw tooLarge();
  let length = 0;
  for await (const chunk of withPeriodicYields(receivedChunks(request), request.signal)) {
    length += chunk.length;
    if (length > maxBytes) throw tooLarge();
    yield chunk;
  }
}

async function* receivedChunks({ body }: HttpRequest): AsyncGenerator<Uint8Array> {
  try {
    const whole = await ('whole' in body ? body.whole?.() : undefined);
    yield* whole ? [whole] : bodyChunks(body);
  } catch (error) {
    throw new IncompleteBodyError(error);
  }
}

export function parseRequestBody(bytes: Buffer): JsonNode | Finding {
  try {
    return rootOf(parseJson(bytes));
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    return { path: [error.offset], level: 'error', code: 'invalid', message: `JSON decode error: ${error.message}` };
  }
}
