import { Buffer } from 'node:buffer';
import { bodyChunks, collectBodyStart } from '../http/body-chunks.ts';
import { getHeader, type HttpRequest, type HttpResponse, type Send } from '../http/message.ts';
import { kindOf, stringOf } from '../json/json-node.ts';
import { tryParseJson } from '../json/parse-json.ts';
import { operationAt } from '../operations/all-operations.ts';
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
 * without secret fields. `onEnd` is awaited before the end of the response, also if it is cut (`isCut`) or abandoned, and
 * without a response if `send` throws.
 */
export async function sendWithCopies(
  request: HttpRequest,
  send: Send,
  maxBytes: number,
  onEnd: (sent: Buffer, response: HttpResponse | undefined, received: Buffer, isCut: boolean) => Promise<void>,
): Promise<HttpResponse> {
  const [sent, received] = [createBodyCopy(maxBytes), createBodyCopy(maxBytes)];
  const { body } = request;
  let isRead = false;
  const chunks = (): AsyncIterable<Uint8Array> => {
    isRead = true;
    return tapChunks(bodyChunks(body), sent.add, async () => {});
  };
  const copied = { length: body.length, chunks };
  const end = async (response: HttpResponse | undefined, isCut: boolean): Promise<void> => {
    // A client that got no 100 Continue sends no body. Waiting for one that is too large would delay its refusal.
    const canRead = getHeader(request.headers, 'expect') === undefined && (body.length ?? 0) <= maxBytes;
    if (!isRead && canRead) await collectBodyStart(chunks(), maxBytes);
    const { body: redactedBody, secrets } = redactBody(requestPath(request), sent.bytes());
    const redactable = secrets.filter(({ length }) => length >= MIN_BODY_SECRET_CHARS);
    // Latin-1 keeps every byte.
    const redact = (bytes: Buffer): Buffer =>
      Buffer.from(createRedactor(redactable).redact(bytes.toString('latin1')), 'latin1');
    return onEnd(redactedBody, response, redactable.length > 0 ? redact(received.bytes()) : received.bytes(), isCut);
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

/** A body of a request without its secret fields, also if it is not valid JSON or was cut; and these. */
export function redactBody(path: string, body: Buffer): { body: Buffer; secrets: string[] } {
  const operation = operationAt(path);
  const names = Object.entries(operation?.body ?? {}).flatMap(([name, { isSecret }]) => (isSecret ? [name] : []));
  if (!operation || names.length === 0) return { body, secrets: [] };
  const root = tryParseJson(body);
  if (!root) return redactInvalidBody(body, names);
  const secrets = firstSecrets(secretValues(root, operation));
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
  return { body: Buffer.from(text, 'latin1'), secrets: firstSecrets(values) };
}

// A body may give a field any number of times.
const MAX_SECRETS = 16;

function firstSecrets(values: readonly string[]): string[] {
  return [...new Set(values)].slice(0, MAX_SECRETS);
}
