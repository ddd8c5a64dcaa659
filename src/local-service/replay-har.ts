import { Buffer } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { errorMessage, Failure } from '../errors.ts';
import { withFileFailure } from '../files/file-errors.ts';
import { bodyChunks } from '../http/body-chunks.ts';
import { getHeader, type HttpHeaders, type HttpResponse, type Send } from '../http/message.ts';
import {
  firstStringMember,
  getMember,
  itemsAt,
  itemsOf,
  type JsonNode,
  kindOf,
  nodeAtPath,
  numberMember,
  rootOf,
} from '../json/json-node.ts';
import { parseJson } from '../json/parse-json.ts';
import { pluralize } from '../json/pluralize.ts';
import { operationAt } from '../operations/all-operations.ts';
import { type AcceptedCredentials, authenticateRequest } from './authenticate-request.ts';
import { createBodyCopy, redactBody } from './body-copy.ts';
import { ConnectionResetError, cutBody } from './inject-faults.ts';
import { isModelsPath } from './operation-route.ts';
import { comparableBody, exchangeKey, generatedValues, MAX_RECORDED_BODY_BYTES } from './record-har.ts';
import { HttpError, httpErrorResponse, requestPath, textResponse } from './responses.ts';

export interface HarReplay {
  readonly send: Send;
  /** Throws Failure `safety_check` that lists requests that were not recorded. */
  readonly requireAllRecorded: () => void;
}

interface ReplayedEntry {
  readonly requestValues: readonly string[];
  readonly status: number;
  readonly headers: HttpHeaders;
  readonly body: Buffer;
  readonly isCut: boolean;
}

const MAX_LISTED_REQUESTS = 5;
const BODY_HEADER = /^(content-(type|length|encoding)|transfer-encoding|connection|keep-alive|date)$/i;
const MIN_STATUS = 200;
const MAX_STATUS = 999;

/**
 * Responds to requests from a HAR file: to each with the next response recorded for its method, path and body, the last one
 * again when there are no more. JSON bodies are compared by value, with numbers as written. Ids and times may differ from the recording: the response then has those of the request.
 * Throws Failure `local_file` for a file that is not HAR.
 */
export async function openHarReplay(path: string, credentials: AcceptedCredentials | undefined): Promise<HarReplay> {
  const queues = await readEntries(path);
  const missing = new Map<string, number>();
  const send: Send = async (request) => {
    request.onBodySent?.();
    const pathname = requestPath(request);
    const operation = operationAt(pathname);
    if (pathname === '/healthz') return textResponse(200, Buffer.from('{"status":"ok"}'), 'application/json');
    try {
      // The page and the metrics are not recorded either.
      if (!operation && !isModelsPath(pathname)) throw new HttpError(404, 'Not Found');
      const body = createBodyCopy(MAX_RECORDED_BODY_BYTES);
      for await (const chunk of bodyChunks(request.body)) body.add(chunk);
      const text = comparableBody(redactBody(pathname, body.bytes()).body);
      const queue = queues.get(exchangeKey(request.method, pathname, text));
      // Credentials are not in a recording, but their rejection is.
      if (credentials && queue?.[0]?.status !== 401)
        authenticateRequest(operation?.auth ?? 'bearer', getHeader(request.headers, 'authorization'), credentials);
      const entry = queue && queue.length > 1 ? queue.shift() : queue?.[0];
      if (entry) return replayedResponse(entry, text);
      const name = `${request.method} ${pathname}`;
      missing.set(name, (missing.get(name) ?? 0) + 1);
      throw new HttpError(404, `${name} with this body is not in the recording`);
    } catch (error) {
      if (error instanceof HttpError) return httpErrorResponse(error, operation?.errors);
      throw error;
    }
  };
  return {
    send,
    requireAllRecorded: () => {
      if (missing.size === 0) return;
      const count = Array.from(missing.values()).reduce((sum, each) => sum + each, 0);
      const names = Array.from(missing, ([name, times]) => `${name} (${times})`).slice(0, MAX_LISTED_REQUESTS);
      const subject = pluralize(count, 'request was', 'requests were');
      throw new Failure('safety_check', `${count} ${subject} not in ${path}: ${names.join(', ')}`, {
        hint: 'record again with svc serve --record',
      });
    },
  };
}

function replayedResponse(
  { requestValues, status, headers, body, isCut }: ReplayedEntry,
  request: string,
): HttpResponse {
  if (status === 0) throw new ConnectionResetError('the recorded request got no response');
  const actual = generatedValues(request);
  let text = body.toString('latin1');
  for (const [at, value] of requestValues.entries()) text = text.replaceAll(value, actual[at] ?? value);
  const contentType = getHeader(headers, 'content-type') ?? 'application/json';
  const kept = headers.filter(([name]) => !BODY_HEADER.test(name));
  const response = textResponse(status, Buffer.from(text, 'latin1'), contentType, kept);
  if (!isCut) return response;
  // Without a length, because the body ends early.
  const { completeBody: _, ...rest } = response;
  return { ...rest, headers: [['Content-Type', contentType], ...kept], body: cutBody(response.body, text.length) };
}

async function readEntries(path: string): Promise<Map<string, ReplayedEntry[]>> {
  const bytes = await withFileFailure(`read ${path}`, () => readFile(path));
  const queues = new Map<string, ReplayedEntry[]>();
  try {
    const entries = nodeAtPath(rootOf(parseJson(bytes)), ['log', 'entries']);
    if (!entries || kindOf(entries) !== 'list') throw new Error('it has no log.entries');
    for (const [at, entry] of Array.from(itemsOf(entries)).entries()) {
      try {
        const { key, replayed } = readEntry(entry);
        const queue = queues.get(key) ?? [];
        queues.set(key, queue);
        queue.push(replayed);
      } catch (error) {
        throw new Error(`log.entries[${at}]: ${errorMessage(error)}`);
      }
    }
  } catch (error) {
    throw new Failure('local_file', `${path} is not a valid HAR file: ${errorMessage(error)}`, {
      hint: 'record one with svc serve --record',
    });
  }
  return queues;
}

function readEntry(entry: JsonNode): { readonly key: string; readonly replayed: ReplayedEntry } {
  const [request, response] = [getMember(entry, 'request'), getMember(entry, 'response')];
  const [method = '', url = ''] = ['method', 'url'].map((name) => firstStringMember(request, name));
  const body = comparableBody(bodyOf(getMember(request, 'postData')));
  const status = numberMember(response, 'status') ?? 0;
  const headers = headersOf(response);
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
    replayed: {
      requestValues: generatedValues(body),
      ...{ status, headers, isCut },
      body: bodyOf(getMember(response, 'content')),
    },
  };
}

function bodyOf(content: JsonNode | undefined): Buffer {
  const encoding = firstStringMember(content, 'encoding') === 'base64' ? 'base64' : 'utf8';
  return Buffer.from(firstStringMember(content, 'text') ?? '', encoding);
}

function headersOf(message: JsonNode | undefined): HttpHeaders {
  const text = (header: JsonNode, name: string): string => firstStringMember(header, name) ?? '';
  return itemsAt(message, 'headers').map((header) => [text(header, 'name'), text(header, 'value')]);
}
