import { Buffer, isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import type { Failure } from '../errors.ts';
import { fileFailure, withFileFailure } from '../files/file-errors.ts';
import { getHeader, type HttpHeaders, type HttpRequest, type HttpResponse, type Middleware } from '../http/message.ts';
import { itemsOf, type JsonNode, kindOf, membersOf, rawText, rootOf, stringOf } from '../json/json-node.ts';
import { parseJson } from '../json/parse-json.ts';
import { type JsonValue, writeJson } from '../json/write-json.ts';
import { bodySecretForms, replaceSecrets } from '../output/redaction.ts';
import type { Runtime } from '../runtime.ts';
import { version } from '../version.ts';
import { sendWithCopies } from './body-copy.ts';
import { requestPath } from './responses.ts';

/** Records exchanges to a file; `close` throws Failure `local_file` if something could not be written. */
interface HarRecorder {
  readonly record: Middleware;
  readonly close: () => Promise<void>;
}

export const MAX_RECORDED_BODY_BYTES = 16 * 1024 * 1024;
const FILE_END = '\n]}}\n';

/**
 * Records every exchange that passes through as an entry of a new HAR 1.2 file (0600), which is complete after each one.
 * An exchange that cannot be written is left out; the first one is a warning at once. Throws Failure `local_file` if the file exists or cannot be created.
 */
export async function openHarRecorder(
  path: string,
  isRecorded: (path: string) => boolean,
  secrets: readonly (string | undefined)[],
  { now, elapsed }: Pick<Runtime, 'now' | 'elapsed'>,
  warn: (message: string) => Promise<void>,
): Promise<HarRecorder> {
  const file = await open(path, 'wx', 0o600).catch((error) => {
    throw fileFailure(`create ${path}`, error, { hint: 'choose another file for --record' });
  });
  const secretForms = bodySecretForms(secrets);
  const head = writeJson({ version: '1.2', creator: { name: 'svc', version }, pages: [] }).slice(0, -1);
  let end = 0;
  let entries = 0;
  let failure: Failure | undefined;
  const append = async (text: string): Promise<void> => {
    try {
      await writeAt(file, `${text}${FILE_END}`, end);
    } catch (error) {
      // The end of the last entry was overwritten; its bytes are allocated, also on a full disk.
      await file.truncate(end + FILE_END.length);
      await writeAt(file, FILE_END, end);
      throw error;
    }
    end += Buffer.byteLength(text);
  };
  let writing = withFileFailure(`write ${path}`, () => append(`{"log":${head},"entries":[`));
  const write = (entry: JsonValue): Promise<void> => {
    const text = replaceSecrets(writeJson(entry), secretForms);
    writing = writing
      .then(() => append(`${entries === 0 ? '\n' : ',\n'}${text}`))
      .then(() => {
        entries += 1;
      })
      .catch(async (error) => {
        if (failure) return;
        failure = fileFailure(`write ${path}`, error);
        await warn(`${failure.message}; the recording is incomplete`);
      });
    return writing;
  };
  await writing;
  return {
    record: (next) => async (request) => {
      if (!isRecorded(requestPath(request))) return next(request);
      const [startedAt, start] = [now(), elapsed()];
      return sendWithCopies(request, next, MAX_RECORDED_BODY_BYTES, (sent, response, received, isCut) => {
        const time = Math.round((elapsed() - start) * 1000) / 1000;
        return write({
          ...{ startedDateTime: new Date(startedAt).toISOString(), time, request: harRequest(request, sent) },
          ...{ response: harResponse(response, received, isCut), cache: {} },
          timings: { send: 0, wait: time, receive: 0 },
        });
      });
    },
    close: async () => {
      await writing;
      await file.close();
      if (failure) throw failure;
    },
  };
}

// All of a text, or an error: a file on a full disk may take a part of it.
async function writeAt(file: FileHandle, text: string, position: number): Promise<void> {
  const bytes = Buffer.from(text);
  for (let written = 0; written < bytes.length; )
    written += (await file.write(bytes, written, bytes.length - written, position + written)).bytesWritten;
}

// Credentials, cookies and all that is unknown stay out of a recording.
const REQUEST_HEADERS = ['content-type', 'accept', 'user-agent', 'traceparent'];
const RESPONSE_HEADERS = ['content-type', 'retry-after', 'x-request-id', 'allow', 'www-authenticate'];

const SIZES = { headersSize: -1, cookies: [], httpVersion: 'HTTP/1.1' };

function harRequest(request: HttpRequest, sent: Buffer): JsonValue {
  return {
    ...SIZES,
    method: request.method,
    url: `http://localhost${requestPath(request)}`,
    headers: harHeaders(request.headers, REQUEST_HEADERS),
    queryString: [],
    bodySize: sent.length,
    ...(sent.length > 0 ? { postData: { mimeType: contentType(request.headers), ...bodyText(sent) } } : {}),
  };
}

function harResponse(response: HttpResponse | undefined, received: Buffer, isCut: boolean): JsonValue {
  const { status = 0, headers = [] } = response ?? {};
  return {
    ...SIZES,
    ...{ status, statusText: '', headers: harHeaders(headers, RESPONSE_HEADERS), redirectURL: '' },
    content: { size: received.length, mimeType: contentType(headers), ...bodyText(received) },
    bodySize: received.length,
    ...(isCut || !response ? { _cut: true } : {}),
  };
}

// Ids of traces and spans are whole strings: a number such as a seed may have as many digits.
const GENERATED_VALUE =
  /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?<=")(?:[0-9a-f]{32}|[0-9a-f]{16})(?=")|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?/g;

/** The ids and times in a body, which clients generate for each request. */
export function generatedValues(body: string): string[] {
  return body.match(GENERATED_VALUE) ?? [];
}

/** A body as replay compares it: JSON compact and with sorted keys, numbers as written; any other body as it is. */
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

function harHeaders(headers: HttpHeaders, names: readonly string[]): JsonValue {
  return headers
    .filter(([name]) => names.includes(name.toLowerCase()))
    .map(([name, value]) => ({ name, value: value.replace(/[^\x20-\x7e]/g, '?') }));
}

function contentType(headers: HttpHeaders): string {
  return getHeader(headers, 'content-type') ?? '';
}

function bodyText(bytes: Buffer): { readonly text: string; readonly encoding?: string } {
  return isUtf8(bytes) ? { text: bytes.toString() } : { text: bytes.toString('base64'), encoding: 'base64' };
}
