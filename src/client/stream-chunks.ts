import { Buffer } from 'node:buffer';
import type { Failure } from '../errors.ts';
import { readEventStream, type ServerEvent } from '../http/event-stream.ts';
import type { HttpResponse } from '../http/message.ts';
import { JsonError } from '../json/json-error.ts';
import { firstStringMember, getMember, itemsAt, type JsonNode, rawText, rootOf } from '../json/json-node.ts';
import { parseJson, tryParseJson } from '../json/parse-json.ts';
import { requestedChoiceCount } from '../operations/chat-text.ts';
import type { Runtime } from '../runtime.ts';
import { failureFromBodyError, invalidResponseFailure, serviceName } from './exchange-failure.ts';
import type { RequestContext } from './request.ts';
import { failureFromErrorBody } from './status-failure.ts';
import { isErrorBody, type ResultEvidence, resultEvidence } from './verdict.ts';

// Some servers keep the connection open after the last finish reason (docs/internals/servers.md); usage may still come.
const STREAM_GRACE_MS = 2000;

const MAX_CHUNK_VALUES = 1_000_000;

/**
 * The chunks of a streamed chat completion. Throws a Failure if the stream carries an error, is cut, or ends before every
 * choice that it began has its finish reason: `[DONE]` alone does not mean success. NaN and Infinity are null, with a warning.
 */
export async function* readStreamChunks(
  response: HttpResponse,
  context: RequestContext,
  after: Runtime['after'],
  onWarning: (message: string) => void,
): AsyncGenerator<JsonNode, undefined> {
  const choices = requestedChoiceCount(rootOf(context.draft.doc));
  const name = streamName(context);
  const finishedIndexes = new Set<string>();
  const seenIndexes = new Set<string>();
  let receivedChunks = 0;
  // The first event alone can prove that the request was not applied, and one with a part of a result that it was.
  let evidence: ResultEvidence | undefined;
  let isEventCut = false;
  let hasNonFinite = false;
  const onCutEvent = (): void => {
    isEventCut = true;
  };
  let cancelGracePeriod = (): void => {};
  try {
    for await (const event of readEventStream(response.body, onCutEvent)) {
      if (event.data.trim() === '[DONE]') break;
      if (isKeepAlive(event)) continue;
      const data = withoutNonFinite(event.data);
      if (data !== event.data && !hasNonFinite)
        onWarning(`${name} has numbers that are not JSON (NaN or Infinity); they are read as null`);
      hasNonFinite ||= data !== event.data;
      const chunk = parseChunk({ ...event, data }, context, evidence);
      receivedChunks += 1;
      evidence = evidence === 'some' || resultEvidence(chunk) !== 'none' ? 'some' : 'unclear';
      const chunkChoices = itemsAt(chunk, 'choices');
      // Usage alone does not extend the time: a server may send it forever.
      if (chunkChoices.length > 0) cancelGracePeriod();
      yield chunk;
      if (isErrorBody(chunk)) throw failureFromEvent(event, chunk, context, 'some');
      for (const choice of chunkChoices) {
        const index = getMember(choice, 'index');
        const text = index ? rawText(index) : '0';
        if (seenIndexes.size < choices) seenIndexes.add(text);
        if (finishedIndexes.size < choices && firstStringMember(choice, 'finish_reason')) finishedIndexes.add(text);
      }
      if (chunkChoices.length > 0 && finishedIndexes.size >= choices)
        cancelGracePeriod = after(STREAM_GRACE_MS, () => response.stop?.());
    }
  } catch (error) {
    const cutMessage = receivedChunks === 0 && !isEventCut ? undefined : `${name} was cut`;
    const failure = failureFromBodyError(error, context, cutMessage);
    // After the last finish reason nothing is missing, however the connection ends.
    if (!failure.facts.isTruncated || finishedIndexes.size < choices) throw failure;
  } finally {
    cancelGracePeriod();
  }
  // Like an empty body (docs/internals/servers.md).
  if (receivedChunks === 0) throw invalidResponseFailure(`${name} is empty`, context);
  // A server may ignore `n`, and may end the stream without [DONE]: every choice it began has ended then.
  if (finishedIndexes.size > 0 && finishedIndexes.size === seenIndexes.size) return;
  const message = `${name} ended without a finish reason; the text may be cut`;
  throw invalidResponseFailure(message, context, true);
}

function streamName({ destination }: RequestContext): string {
  return `the stream from ${serviceName(destination)}`;
}

const NON_FINITE_OR_STRING = /"(?:[^"\\]|\\.)*"|-?\b(?:Infinity|NaN)\b/g;

function withoutNonFinite(data: string): string {
  if (!/\b(?:Infinity|NaN)\b/.test(data)) return data;
  return data.replace(NON_FINITE_OR_STRING, (found) => (found.startsWith('"') ? found : 'null'));
}

// Such as `event: ping`: another name than that of a message, and no JSON.
function isKeepAlive({ name, data, isTerminated }: ServerEvent): boolean {
  return (
    isTerminated && !['message', 'error', undefined].includes(name) && tryParseJson(Buffer.from(data)) === undefined
  );
}

function parseChunk(event: ServerEvent, context: RequestContext, evidence: ResultEvidence | undefined): JsonNode {
  const { name, data, isTerminated } = event;
  let chunk: JsonNode;
  try {
    chunk = rootOf(parseJson(data, MAX_CHUNK_VALUES));
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    if (name === 'error') throw failureFromEvent(event, undefined, context, evidence);
    const message = isTerminated
      ? `an event of ${streamName(context)} is not JSON: ${error.problem}`
      : `${streamName(context)} was cut inside an event`;
    throw invalidResponseFailure(message, context, !isTerminated);
  }
  // An error beside a part of the text: the reader gets both.
  if (resultEvidence(chunk) === 'some') return chunk;
  if (name === 'error' || isErrorBody(chunk)) throw failureFromEvent(event, chunk, context, evidence);
  return chunk;
}

function failureFromEvent(
  { data }: ServerEvent,
  chunk: JsonNode | undefined,
  context: RequestContext,
  evidence: ResultEvidence = resultEvidence(chunk),
): Failure {
  const what = 'ended the stream with an error';
  return failureFromErrorBody(Buffer.from(data), context, { what, place: ' in the stream', evidence });
}
