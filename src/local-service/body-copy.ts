import { Buffer } from 'node:buffer';
import { bodyChunks, collectBodyStart, observeChunks } from '../http/body-chunks.ts';
import { getHeader, type HttpRequest, type HttpResponse, type Send } from '../http/message.ts';
import { kindOf, stringOf } from '../json/json-node.ts';
import { tryParseJson } from '../json/parse-json.ts';
import { operationAt } from '../operations/all-operations.ts';
import type { Operation } from '../operations/operation.ts';
import {
  createRedactor,
  MIN_BODY_SECRET_CHARS,
  REDACTED,
  redactSecretFields,
  secretValues,
} from '../output/redaction.ts';
import { requestPath } from './responses.ts';

export function createBodyCopy(maxBytes: number) {
  const chunks: Buffer[] = [];
  let length = 0;
  return {
    add: (chunk: Uint8Array): void => {
      if (length < maxBytes) chunks.push(Buffer.from(chunk.subarray(0, maxBytes - length)));
      length += chunk.length;
    },
    bytes: (): Buffer => Buffer.concat(chunks),
  };
}

/**
 * Sends a request and copies its body, also one that is refused unread, and that of its response, each up to a limit and
 * without secret fields. `onEnd` is awaited as by copyResponse, and without a response if `send` throws.
 */
export async function sendWithCopies(
  request: HttpRequest,
  send: Send,
  maxBytes: number,
  onEnd: (sent: Buffer, response: HttpResponse | undefined, received: Buffer, isCut: boolean) => Promise<void>,
): Promise<HttpResponse> {
  const copy = createBodyCopy(maxBytes);
  const { body } = request;
  let isRead = false;
  const chunks = (): AsyncIterable<Uint8Array> => {
    isRead = true;
    return observeChunks(bodyChunks(body), copy.add);
  };
  const end = async (response: HttpResponse | undefined, bytes: Buffer, isCut: boolean): Promise<void> => {
    // A client that got no 100 Continue sends no body. Waiting for one that is too large would delay its refusal.
    const canRead = getHeader(request.headers, 'expect') === undefined && (body.length ?? 0) <= maxBytes;
    if (!isRead && canRead) await collectBodyStart(chunks(), maxBytes);
    const [sent, received] = redactCopies(copy.bytes(), bytes, operationAt(requestPath(request)));
    return onEnd(sent, response, received, isCut);
  };
  const response = await send({ ...request, body: { length: body.length, chunks } }).catch(async (error: unknown) => {
    await end(undefined, Buffer.alloc(0), false);
    throw error;
  });
  return copyResponse(response, maxBytes, (received, isCut) => end(response, received, isCut));
}

/** The same response. `onEnd` is awaited with a copy of its body before its end, also if it is cut (`isCut`) or abandoned. */
export async function copyResponse(
  response: HttpResponse,
  maxBytes: number,
  onEnd: (received: Buffer, isCut: boolean) => Promise<void>,
): Promise<HttpResponse> {
  const { headers, body, completeBody } = response;
  if (completeBody) {
    await onEnd(completeBody.subarray(0, maxBytes), false);
    return response;
  }
  const copy = createBodyCopy(maxBytes);
  const length = Number(getHeader(headers, 'content-length') ?? Number.NaN);
  return { ...response, body: tapChunks(body, copy.add, (isCut) => onEnd(copy.bytes(), isCut), length) };
}

// The same chunks; `onEnd` is awaited when they end, are cut or are abandoned, and before the last of `length` bytes: a
// client that has them does not wait for the end.
async function* tapChunks(
  chunks: AsyncIterable<Uint8Array>,
  onChunk: (chunk: Uint8Array) => void,
  onEnd: (isCut: boolean) => Promise<void>,
  length: number,
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

/** The bodies of a request and its response without the secret fields of the request. */
export function redactCopies(
  sent: Buffer,
  received: Buffer,
  operation: Operation | undefined,
): [sent: Buffer, received: Buffer] {
  const { body, secrets } = redactBody(sent, operation);
  const redactable = new Set(secrets.filter(({ length }) => length >= MIN_BODY_SECRET_CHARS));
  if (redactable.size === 0) return [body, received];
  const { redact } = createRedactor([...redactable].slice(0, MAX_SECRETS));
  // Latin-1 keeps every byte.
  return [body, Buffer.from(redact(received.toString('latin1')), 'latin1')];
}

// A body may give a field any number of times.
const MAX_SECRETS = 16;

/** A body of a request without its secret fields, also if it is not valid JSON or was cut; and these. */
export function redactBody(body: Buffer, operation: Operation | undefined): { body: Buffer; secrets: string[] } {
  const names = Object.entries(operation?.body ?? {}).flatMap(([name, { isSecret }]) => (isSecret ? [name] : []));
  if (!operation || names.length === 0) return { body, secrets: [] };
  const root = tryParseJson(body);
  if (!root) return redactInvalidBody(body, names);
  const secrets = secretValues(root, operation);
  if (secrets.length === 0) return { body, secrets };
  return { body: redactSecretFields(root, operation, () => REDACTED), secrets };
}

// The string after the name, which may lack its end, or any other text up to the end of the field.
function redactInvalidBody(body: Buffer, names: readonly string[]): { body: Buffer; secrets: string[] } {
  const field = new RegExp(`("(?:${names.join('|')})"\\s*:\\s*)("(?:[^"\\\\]+|\\\\.)*"?|[^\\s",}\\]]+)`, 'gs');
  const values: string[] = [];
  const text = body.toString('latin1').replace(field, (_, start: string, value: string) => {
    const bytes = Buffer.from(value, 'latin1');
    const node = tryParseJson(bytes);
    values.push(node && kindOf(node) === 'string' ? stringOf(node) : bytes.toString().replace(/^"|"$/g, ''));
    return `${start}"${REDACTED}"`;
  });
  return { body: Buffer.from(text, 'latin1'), secrets: values };
}
