import { Failure } from '../errors.ts';
import { eventsOf } from '../http/events.ts';
import type { Reply } from '../http/message.ts';
import { parseJson } from '../json/document.ts';
import { JsonError } from '../json/json-error.ts';
import { itemsOf, type JsonNode, kindOf, member, rootOf, stringOf, textOf } from '../json/node.ts';
import { brokenAnswer, failureOfBody } from './answer.ts';
import { failureOfError } from './failures.ts';
import type { Sent } from './sent.ts';
import { readServiceError } from './service-error.ts';
import { verdictOf } from './verdict.ts';

export interface ChunkOptions {
  /** How many choices must finish before the stream may end. */
  readonly choices: number;
  /** Calls back after so many milliseconds; the result takes the order back. */
  readonly after: (milliseconds: number, action: () => void) => () => void;
  /** Ends the exchange. */
  readonly stop: () => void;
}

// Some servers keep the connection open after the last finish reason (SERVERS.md); usage may still come.
const GRACE = 2000;

// The most values and keys in one of them.
const chunkValues = 1_000_000;

/**
 * The chunks of a streamed chat completion. Throws the Failure it is when the stream carries an error, is cut, or ends
 * before every choice has its finish reason: `[DONE]` alone is no success.
 */
export async function* chunksOf(
  reply: Reply,
  sent: Sent,
  { choices, after, stop }: ChunkOptions,
): AsyncGenerator<JsonNode> {
  const finished = new Set<string>();
  let received = 0;
  let endGrace = (): void => {};
  try {
    for await (const data of eventsOf(reply.body)) {
      endGrace();
      if (data.trim() === '[DONE]') break;
      const chunk = parsedChunk(data, reply, sent, received > 0);
      received += 1;
      yield chunk;
      for (const index of finishedIn(chunk)) if (finished.size < choices) finished.add(index);
      if (finished.size >= choices) endGrace = after(GRACE, stop);
    }
  } catch (error) {
    const failure = failureOfBody(error, reply, sent, received === 0 ? undefined : 'the stream was cut');
    // After the last finish reason nothing is missing, however the connection ends.
    if (!failure.facts.isCut || finished.size < choices) throw failure;
  } finally {
    endGrace();
  }
  if (received === 0) throw failureOfError(new Error('the stream ended before its first event'), sent);
  if (finished.size < choices)
    throw brokenAnswer('the stream ended without a finish reason; the text may be cut', reply, sent, true);
}

function parsedChunk(data: string, reply: Reply, sent: Sent, hasBegun: boolean): JsonNode {
  let chunk: JsonNode;
  try {
    chunk = rootOf(parseJson(data, chunkValues));
  } catch (error) {
    if (error instanceof JsonError)
      throw brokenAnswer(`an event of the stream is not JSON: ${error.message}`, reply, sent);
    throw error;
  }
  if (isError(chunk)) throw failureOfEvent(chunk, reply, sent, hasBegun);
  return chunk;
}

// Any of the shapes of SERVERS.md; what has neither choices nor words is a chunk nobody knows.
function isError(chunk: JsonNode): boolean {
  const error = member(chunk, 'error');
  const object = member(chunk, 'object');
  if ((error !== undefined && kindOf(error) !== 'null') || (object !== undefined && textOf(object) === '"error"'))
    return true;
  return !member(chunk, 'choices') && ['detail', 'message', 'reason'].some((name) => member(chunk, name) !== undefined);
}

function failureOfEvent(chunk: JsonNode, reply: Reply, sent: Sent, hasBegun: boolean): Failure {
  const error = member(chunk, 'error');
  const code = member(error && kindOf(error) === 'object' ? error : chunk, 'code');
  // Some vendors number their errors as they like: only what can be a status is one.
  const status = code && /^[45]\d\d$/.test(textOf(code)) ? Number(textOf(code)) : undefined;
  const verdict = status === undefined ? undefined : verdictOf(status, false);
  const { message = 'no reason given' } = readServiceError(chunk.doc.bytes);
  const { facts } = brokenAnswer('', reply, sent);
  return new Failure(verdict?.code ?? 'answer', `the service broke off: ${message}`, {
    ...facts,
    status: status ?? facts.status,
    // What has been answered in part was applied, whatever the code of the error says.
    applied: verdict?.code && !hasBegun ? verdict.applied : 'yes',
  });
}

function finishedIn(chunk: JsonNode): string[] {
  const choices = member(chunk, 'choices');
  return Array.from(choices ? itemsOf(choices) : []).flatMap((choice) => {
    const reason = member(choice, 'finish_reason');
    const index = member(choice, 'index');
    return reason && kindOf(reason) === 'string' && stringOf(reason) !== '' ? [index ? textOf(index) : '0'] : [];
  });
}
