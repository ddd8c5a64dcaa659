import { Buffer, isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { errorMessage, Failure, safetyFailure } from '../errors.ts';
import { fileFailure, withFileFailure } from '../files/file-errors.ts';
import { bodyChunks } from '../http/body-chunks.ts';
import {
  getHeader,
  type HttpHeaders,
  type HttpRequest,
  type HttpResponse,
  type Middleware,
  type Send,
} from '../http/message.ts';
import {
  firstStringMember,
  getMember,
  itemsAt,
  itemsOf,
  type JsonNode,
  kindOf,
  membersOf,
  nodeAtPath,
  numberMember,
  rawText,
  rootOf,
  stringOf,
} from '../json/json-node.ts';
import { parseJson } from '../json/parse-json.ts';
import { type JsonValue, writeJson } from '../json/write-json.ts';
import { operationAt } from '../operations/all-operations.ts';
import { bodySecretForms, isSecretResponseHeader, replaceSecrets } from '../output/redaction.ts';
import { pluralize } from '../output/transfer-text.ts';
import type { Runtime } from '../runtime.ts';
import { version } from '../version.ts';
import { createBodyCopy, redactBody, sendWithCopies } from './body-copy.ts';
import { ConnectionResetError, cutBody } from './inject-faults.ts';
import { HttpError, httpErrorResponse, requestPath, textResponse } from './responses.ts';
import { routeAt } from './routes.ts';
import { type AcceptedCredentials, authenticateRequest } from './service-credentials.ts';

const MAX_RECORDED_BODY_BYTES = 16 * 1024 * 1024;
const FILE_END = '\n]}}\n';

/**
 * Records every exchange in a new HAR 1.2 file (0600), which is complete after each one. The first that cannot be written is a
 * warning at once, and a Failure `local_file` of `close`. Throws Failure `local_file` if the file cannot be created.
 */
export async function openHarRecorder(
  path: string,
  secrets: readonly (string | undefined)[],
  { now, elapsed }: Pick<Runtime, 'now' | 'elapsed'>,
  warn: (message: string) => Promise<void>,
): Promise<{ readonly record: Middleware; readonly close: () => Promise<void> }> {
  const file = await open(path, 'wx', 0o600).catch((error) => {
    throw fileFailure('create', path, error, { hint: 'choose another file for --record' });
  });
  const secretForms = bodySecretForms(secrets);
  const head = writeJson({ version: '1.2', creator: { name: 'svc', version }, pages: [] }).slice(0, -1);
  let [end, separator] = [0, '\n'];
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
  let writing = withFileFailure('write', path, () => append(`{"log":${head},"entries":[`));
  const write = (entry: JsonValue): Promise<void> => {
    const text = replaceSecrets(writeJson(entry), secretForms);
    writing = writing
      .then(() => append(separator + text))
      .then(() => {
        separator = ',\n';
      })
      .catch(async (error) => {
        if (failure) return;
        failure = fileFailure('write', path, error);
        await warn(`${failure.message}; the recording is incomplete`);
      });
    return writing;
  };
  await writing;
  return {
    record: (next) => async (request) => {
      if (!routeAt(requestPath(request))?.isRecorded) return next(request);
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

// Credentials and cookies stay out of a recording, as does every other request header, which replay does not need.
const REQUEST_HEADERS = ['content-type', 'accept', 'user-agent', 'traceparent'];

const SIZES = { headersSize: -1, cookies: [], httpVersion: 'HTTP/1.1' };

function harRequest(request: HttpRequest, sent: Buffer): JsonValue {
  return {
    ...SIZES,
    method: request.method,
    url: `http://localhost${requestPath(request)}`,
    headers: harHeaders(request.headers, (name) => REQUEST_HEADERS.includes(name.toLowerCase())),
    queryString: [],
    bodySize: sent.length,
    ...(sent.length > 0
      ? { postData: { mimeType: getHeader(request.headers, 'content-type') ?? '', ...bodyText(sent) } }
      : {}),
  };
}

function harResponse(response: HttpResponse | undefined, received: Buffer, isCut: boolean): JsonValue {
  const { status = 0, headers = [] } = response ?? {};
  const recorded = harHeaders(headers, (name) => !isSecretResponseHeader(name));
  return {
    ...SIZES,
    ...{ status, statusText: '', headers: recorded, redirectURL: '' },
    content: { size: received.length, mimeType: getHeader(headers, 'content-type') ?? '', ...bodyText(received) },
    bodySize: received.length,
    ...(isCut || !response ? { _cut: true } : {}),
  };
}

function harHeaders(headers: HttpHeaders, isRecorded: (name: string) => boolean): JsonValue {
  return headers
    .filter(([name]) => isRecorded(name))
    .map(([name, value]) => ({ name, value: value.replace(/[^\x20-\x7e]/g, '?') }));
}

function bodyText(bytes: Buffer): { readonly text: string; readonly encoding?: string } {
  return isUtf8(bytes) ? { text: bytes.toString() } : { text: bytes.toString('base64'), encoding: 'base64' };
}

const MAX_LISTED_REQUESTS = 5;
const BODY_HEADER = /^(content-(type|length|encoding)|transfer-encoding|connection|keep-alive|date)$/i;
const BODILESS_STATUSES = [204, 304];
const MIN_STATUS = 200;
const MAX_STATUS = 999;

/**
 * Responds to requests from a HAR file: to each with the next response recorded for its method, path and body, the last one
 * again when there are no more. Ids and times may differ from the recording: the response then has those of the request.
 * Throws Failure `local_file` for a file that is not HAR; `requireAllRecorded` throws Failure `safety_check` that lists
 * requests that were not recorded.
 */
export async function openHarReplay(
  path: string,
  credentials: AcceptedCredentials | undefined,
): Promise<{ readonly send: Send; readonly requireAllRecorded: () => void }> {
  const queues = await readEntries(path);
  const missing = new Map<string, number>();
  const send: Send = async (request) => {
    request.onBodySent?.();
    const pathname = requestPath(request);
    const route = routeAt(pathname);
    if (pathname === '/healthz') return textResponse(200, Buffer.from('{"status":"ok"}'), 'application/json');
    try {
      if (!route?.isRecorded) throw new HttpError(404, 'Not Found');
      const body = createBodyCopy(MAX_RECORDED_BODY_BYTES);
      for await (const chunk of bodyChunks(request.body)) body.add(chunk);
      const text = comparableBody(redactBody(body.bytes(), operationAt(pathname)).body);
      const queue = queues.get(exchangeKey(request.method, pathname, text));
      // Credentials are not in a recording, but their rejection is.
      if (credentials && queue?.[0]?.status !== 401)
        authenticateRequest(route.auth, getHeader(request.headers, 'authorization'), credentials);
      const entry = queue && queue.length > 1 ? queue.shift() : queue?.[0];
      if (entry) return replayedResponse(entry, text);
      const name = `${request.method} ${pathname}`;
      missing.set(name, (missing.get(name) ?? 0) + 1);
      throw new HttpError(404, `${name} with this body is not in the recording`);
    } catch (error) {
      if (error instanceof HttpError) return httpErrorResponse(error, route?.errors);
      throw error;
    }
  };
  return {
    send,
    requireAllRecorded: () => {
      if (missing.size === 0) return;
      const count = Array.from(missing.values()).reduce((sum, each) => sum + each);
      const names = Array.from(missing, ([name, times]) => `${name} (${times})`).slice(0, MAX_LISTED_REQUESTS);
      const subject = pluralize(count, 'request was', 'requests were');
      throw safetyFailure('unrecorded_request', `${count} ${subject} not in ${path}: ${names.join(', ')}`, {
        hint: 'record again with svc serve --record',
      });
    },
  };
}

type RecordedEntry = ReturnType<typeof readEntry>;

function replayedResponse(
  { requestValues, status, headers, body, isCut }: RecordedEntry,
  request: string,
): HttpResponse {
  if (status === 0) throw new ConnectionResetError('the recorded request got no response');
  const actual = generatedValues(request);
  let text = body.toString('latin1');
  for (const [at, value] of requestValues.entries()) text = text.replaceAll(value, actual[at] ?? value);
  const contentType = getHeader(headers, 'content-type') ?? 'application/json';
  const kept = headers.filter(([name]) => !BODY_HEADER.test(name));
  if (BODILESS_STATUSES.includes(status))
    return { ...textResponse(status, Buffer.alloc(0), contentType), headers: kept };
  const response = textResponse(status, Buffer.from(text, 'latin1'), contentType, kept);
  if (!isCut) return response;
  // Without a length, because the body ends early.
  const cutHeaders: HttpHeaders = [['Content-Type', contentType], ...kept];
  return { ...response, headers: cutHeaders, body: cutBody(response.body, text.length), completeBody: undefined };
}

async function readEntries(path: string): Promise<Map<string, RecordedEntry[]>> {
  const bytes = await withFileFailure('read', path, () => readFile(path));
  const queues = new Map<string, RecordedEntry[]>();
  let place = '';
  try {
    const entries = nodeAtPath(rootOf(parseJson(bytes)), ['log', 'entries']);
    if (!entries || kindOf(entries) !== 'list') throw new Error('it has no log.entries');
    for (const [at, node] of Array.from(itemsOf(entries)).entries()) {
      place = `log.entries[${at}]: `;
      const entry = readEntry(node);
      const queue = queues.get(entry.key) ?? [];
      queues.set(entry.key, queue);
      queue.push(entry);
    }
  } catch (error) {
    throw new Failure('local_file', `${path} is not a valid HAR file: ${place}${errorMessage(error)}`, {
      hint: 'record one with svc serve --record',
    });
  }
  return queues;
}

function readEntry(entry: JsonNode) {
  const [request, response] = [getMember(entry, 'request'), getMember(entry, 'response')];
  const [method = '', url = ''] = ['method', 'url'].map((name) => firstStringMember(request, name));
  const body = comparableBody(bodyOf(getMember(request, 'postData')));
  const status = numberMember(response, 'status') ?? 0;
  const headers: HttpHeaders = itemsAt(response, 'headers').map((header) => [
    firstStringMember(header, 'name') ?? '',
    firstStringMember(header, 'value') ?? '',
  ]);
  const isCut = getMember(response, '_cut') !== undefined;
  // svc records a connection that ended before the response as a cut one with the status 0.
  const isValidStatus = Number.isInteger(status) && status >= MIN_STATUS && status <= MAX_STATUS;
  if (!isValidStatus && !(status === 0 && isCut))
    throw new Error(`the response status ${status} is not an integer from ${MIN_STATUS} to ${MAX_STATUS}`);
  for (const [name] of headers) validateHeaderName(name);
  for (const [name, value] of [['statusText', firstStringMember(response, 'statusText') ?? ''], ...headers] as const)
    validateHeaderValue(name, value);
  return {
    key: exchangeKey(method, new URL(url).pathname, body),
    requestValues: generatedValues(body),
    ...{ status, headers, isCut },
    body: bodyOf(getMember(response, 'content')),
  };
}

function bodyOf(content: JsonNode | undefined): Buffer {
  const encoding = firstStringMember(content, 'encoding') === 'base64' ? 'base64' : 'utf8';
  return Buffer.from(firstStringMember(content, 'text') ?? '', encoding);
}

// Ids of traces and spans are whole strings: a number such as a seed may have as many digits.
const GENERATED_VALUE =
  /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?<=")(?:[0-9a-f]{32}|[0-9a-f]{16})(?=")|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?/g;

function generatedValues(body: string): string[] {
  return body.match(GENERATED_VALUE) ?? [];
}

// A body as replay compares it: JSON compact and with sorted keys, numbers as written; any other body as it is.
function comparableBody(body: Buffer): string {
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

// What identifies a request: method, path, and comparable body except ids and times that clients generate.
function exchangeKey(method: string, path: string, body: string): string {
  const digest = createHash('sha256').update(withoutGeneratedValues(body)).digest('hex');
  return `${method} ${path} ${digest}`;
}
