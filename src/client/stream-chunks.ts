import { Buffer } from 'node:buffer';
import { requestedChoiceCount } from '../body/chat/chat-edits.ts';
import { Failure } from '../errors.ts';
import { prependChunk } from '../files/read-input.ts';
import { readEventStream, type ServerEvent } from '../http/event-stream.ts';
import type { HttpResponse } from '../http/message.ts';
import { JsonError } from '../json/json-error.ts';
import { firstStringMember, getMember, itemsAt, type JsonNode, kindOf, rawText, rootOf } from '../json/json-node.ts';
import { parseJson } from '../json/parse-json.ts';
import type { Runtime } from '../runtime.ts';
import {
  failureFromBodyError,
  invalidResponseFailure,
  responseFacts,
  retryAdvice,
  serviceName,
} from './exchange-failure.ts';
import type { RequestContext } from './request.ts';
import { classifyStatus, locateIssues, parseServiceError, statusHint, statusSummary } from './status-failure.ts';

// Some servers keep the connection open after the last finish reason (docs/servers.md); usage may still come.
const STREAM_GRACE_MS = 2000;

const MAX_CHUNK_VALUES = 1_000_000;

/**
 * Waits for the first chunk of a streamed chat completion and returns all of them. Throws a Failure, now or while the
 * chunks are read, if the stream carries an error, is cut, or ends before every choice that it began has its finish
 * reason: `[DONE]` alone does not mean success.
 */
export async function openStream(response: HttpResponse, context: RequestContext, after: Runtime['after']) {
  const chunks = readStreamChunks(response, context, after);
  const first = await chunks.next();
  return first.done ? chunks : prependChunk(first.value, chunks);
}

async function* readStreamChunks(response: HttpResponse, context: RequestContext, after: Runtime['after']) {
  const choices = requestedChoiceCount(rootOf(context.draft.doc));
  const name = streamName(context);
  const finishedIndexes = new Set<string>();
  const seenIndexes = new Set<string>();
  let receivedChunks = 0;
  let isEventCut = false;
  const onCutEvent = (): void => {
    isEventCut = true;
  };
  let cancelGracePeriod = (): void => {};
  try {
    for await (const event of readEventStream(response.body, onCutEvent)) {
      if (event.data.trim() === '[DONE]') break;
      const chunk = parseChunk(event, context, receivedChunks > 0);
      receivedChunks += 1;
      const chunkChoices = itemsAt(chunk, 'choices');
      // Usage alone does not extend the time: a server may send it forever.
      if (chunkChoices.length > 0) cancelGracePeriod();
      yield chunk;
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
  // Like an empty body (docs/servers.md).
  if (receivedChunks === 0) throw invalidResponseFailure(`${name} is empty`, context);
  // A server may ignore `n`, and may end the stream without [DONE]: every choice it began has ended then.
  if (finishedIndexes.size > 0 && finishedIndexes.size === seenIndexes.size) return;
  const message = `${name} ended without a finish reason; the text may be cut`;
  throw invalidResponseFailure(message, context, true);
}

function streamName({ destination }: RequestContext): string {
  return `the stream from ${serviceName(destination)}`;
}

function parseChunk(event: ServerEvent, context: RequestContext, hasBegun: boolean): JsonNode {
  const { name, data, isTerminated } = event;
  let chunk: JsonNode;
  try {
    chunk = rootOf(parseJson(data, MAX_CHUNK_VALUES));
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    if (name === 'error') throw failureFromEvent(event, undefined, context, hasBegun);
    const message = isTerminated
      ? `an event of ${streamName(context)} is not JSON: ${error.problem}`
      : `${streamName(context)} was cut inside an event`;
    throw invalidResponseFailure(message, context, !isTerminated);
  }
  if (name === 'error' || isErrorChunk(chunk)) throw failureFromEvent(event, chunk, context, hasBegun);
  return chunk;
}

function isErrorChunk(chunk: JsonNode): boolean {
  const error = getMember(chunk, 'error');
  if ((error && kindOf(error) !== 'null') || firstStringMember(chunk, 'object') === 'error') return true;
  return !getMember(chunk, 'choices') && ['detail', 'message', 'reason'].some((name) => getMember(chunk, name));
}

function failureFromEvent(
  { data }: ServerEvent,
  chunk: JsonNode | undefined,
  context: RequestContext,
  hasBegun: boolean,
): Failure {
  const error = getMember(chunk, 'error');
  const code = getMember(error && kindOf(error) === 'object' ? error : chunk, 'code');
  // Some gateways send it as a string, and some vendors number their errors as they like: only what can be a status is one.
  const digits = code && /^("?)([45]\d\d)\1$/.exec(rawText(code))?.[2];
  const status = digits === undefined ? undefined : Number(digits);
  const statusClass = status === undefined ? undefined : classifyStatus(status, false);
  const serviceError = parseServiceError(Buffer.from(data));
  // After the first chunk the request was applied, whatever the code of the error is.
  const applied = statusClass?.code && !hasBegun ? statusClass.applied : 'yes';
  const failureCode = statusClass?.code ?? 'invalid_response';
  const summary =
    status === undefined
      ? `${serviceName(context.destination)} ended the stream with an error`
      : `${statusSummary(status, String(status), context)} in the stream`;
  const reason = serviceError.message === undefined ? '' : `: ${serviceError.message}`;
  const isLimited = failureCode === 'rate_limited';
  return new Failure(failureCode, `${summary}${reason}`, {
    ...responseFacts(context),
    summary,
    status: status ?? context.response?.status,
    applied,
    issues: locateIssues(serviceError, context),
    isPermanent: isLimited && serviceError.isQuotaError,
    hint:
      isLimited && applied === 'yes'
        ? retryAdvice(context)
        : statusHint(failureCode, status ?? context.response?.status ?? 0, context),
  });
}
