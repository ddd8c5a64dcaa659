import type { Conversation } from '../body/chat/conversation.ts';
import { requestedChoiceCount } from '../body/chat/streaming.ts';
import type { Context } from '../context.ts';
import { Failure, toFailure } from '../errors.ts';
import { createDeadline } from '../http/deadline.ts';
import type { Request, Response } from '../http/message.ts';
import type { Transport } from '../http/transport.ts';
import { getMember, rootOf } from '../json/json-node.ts';
import type { JsonDocument } from '../json/parse-json.ts';
import { openSink } from '../output/sink.ts';
import { ClosedPipeError } from '../output/writer.ts';
import { completionChoices } from '../results/chat-text.ts';
import { defaultFormat, type ResultView, showResponse } from '../results/show-response.ts';
import type { JobOutcome } from '../train/history/training-job.ts';
import { authorizeRequest } from './authorize-request.ts';
import type { CallSettings } from './call-settings.ts';
import type { Authorization } from './destination.ts';
import { factsWithoutResponse } from './failure.ts';
import { openTransport, withMiddleware } from './open-transport.ts';
import { type PreparedRequest, requestSecrets } from './prepared-request.ts';
import { successFacts } from './read-response.ts';
import { createRequestContext, type RequestContext } from './request-context.ts';
import { outcomeOfFailure, outcomeOfResponse } from './request-outcome.ts';
import { createRetryOptions } from './retry-options.ts';
import { type AttemptResult, sendOnce } from './send-once.ts';
import { withRetries } from './with-retries.ts';

/** Is told of a request besides the user. */
export interface RequestObserver {
  /** It is about to leave; what this throws keeps it here. */
  readonly begin: () => Promise<void>;
  /** What became of it. */
  readonly end: (outcome: JobOutcome) => Promise<void>;
}

/** A request and what is to become of its answer. */
export interface SendOptions extends CallSettings {
  readonly prepared: PreparedRequest;
  readonly url: URL;
  readonly conversation: Conversation | undefined;
  readonly observer: RequestObserver | undefined;
}

/** Sends a request, shows the answer and returns it; a conversation keeps what was said. Throws the Failure it is otherwise. */
export async function sendAndShow(sendOptions: SendOptions, context: Context): Promise<JsonDocument> {
  const { prepared, options, timeoutMs, conversation, observer } = sendOptions;
  const { operation, draft } = prepared;
  const { runtime, stdout, report } = context;
  const authorization = await authorizeRequest(operation, sendOptions.url, sendOptions, context);
  report.addSecrets(requestSecrets(prepared));
  // Before anything is sent: a result that cannot be written is better not asked for.
  const sink = await openSink(options.output, stdout, runtime.cwd);
  const format = options.format ?? defaultFormat(operation, sink.writer.isTerminal);
  const view: ResultView = { operation, format, sink, context };
  const requestContext = createRequestContext(operation, draft);
  const streamController = new AbortController();
  const deadline = createDeadline(timeoutMs, runtime);
  let transport: Transport | undefined;
  let response: Response | undefined;
  context.onProgressFacts(() =>
    response ? successFacts(response, requestContext) : factsWithoutResponse(requestContext),
  );
  try {
    await observer?.begin();
    transport = await openTransport(sendOptions.route, context);
    const sendWithMiddleware = withMiddleware(transport.send, requestContext.progress, deadline, context);
    const signal = AbortSignal.any([context.signal, streamController.signal]);
    const request = createRequest(sendOptions, authorization, signal);
    const retryOptions = createRetryOptions(sendOptions.maxRetries, deadline, context);
    const attemptResult = await withRetries(
      () => sendOnce(sendWithMiddleware, request, requestContext, context),
      requestContext,
      retryOptions,
    );
    response = attemptResult.response;
    await observer?.end(outcomeOfResponse(attemptResult, requestContext));
    const document = await showResult(
      attemptResult,
      requestContext,
      view,
      streamController,
      conversation !== undefined,
    );
    await conversation?.save(rootOf(draft.doc), getMember(completionChoices(rootOf(document))[0], 'message'));
    return document;
  } catch (error) {
    if (!response) await observer?.end(outcomeOfFailure(error, requestContext));
    await sink.abandon().catch((abandonError: unknown) => report.warn(toFailure(abandonError).message));
    throw response ? markAsApplied(error, response, requestContext) : error;
  } finally {
    await transport?.close();
  }
}

function createRequest(
  { prepared, url }: SendOptions,
  authorization: Authorization | undefined,
  signal: AbortSignal,
): Request {
  const headers = authorization
    ? [...prepared.headers, ['Authorization', authorization.value.reveal()] as const]
    : prepared.headers;
  return { method: 'POST', url: url.href, headers, body: prepared.body, signal };
}

async function showResult(
  { response, parsedResponse }: AttemptResult,
  requestContext: RequestContext,
  view: ResultView,
  streamController: AbortController,
  isDocumentNeeded: boolean,
): Promise<JsonDocument> {
  if (parsedResponse) return showResponse(parsedResponse, view);
  const choices = requestedChoiceCount(rootOf(requestContext.draft.doc));
  const { after } = view.context.runtime;
  const [{ readStreamChunks }, { showStream }] = await Promise.all([
    import('./stream-chunks.ts'),
    import('../results/show-stream.ts'),
  ]);
  return showStream(
    readStreamChunks(response, requestContext, { choices, after, stop: () => streamController.abort() }),
    { choices, isDocumentNeeded },
    view,
  );
}

// Whatever goes wrong with the result, such as a full disk, the request was applied.
function markAsApplied(error: unknown, reply: Response, sent: RequestContext): unknown {
  if (error instanceof ClosedPipeError) return error;
  const { code, message, facts } = toFailure(error);
  return facts.applied ? error : new Failure(code, message, { ...successFacts(reply, sent), ...facts });
}
