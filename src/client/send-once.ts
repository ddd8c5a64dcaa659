import type { Context } from '../context.ts';
import { getHeader, type Request, type Response, type Send } from '../http/message.ts';
import { peekBody } from '../http/peek-body.ts';
import { formatTransfer } from '../output/transfer-text.ts';
import { exchangeRequest } from './exchange-request.ts';
import { failureFromBodyError, type ParsedResponse, readResponse } from './read-response.ts';
import type { RequestContext } from './request-context.ts';

/** What a successful attempt brought: a whole answer, or a stream of events that is still to be read. */
export interface AttemptResult {
  readonly response: Response;
  readonly parsedResponse: ParsedResponse | undefined;
}

/** Sends a request once and reads the answer, unless it is a stream. Throws the Failure it is otherwise. */
export async function sendOnce(
  send: Send,
  request: Request,
  requestContext: RequestContext,
  { runtime, startSpinner }: Context,
): Promise<AttemptResult> {
  const startedAt = runtime.elapsed();
  const stopSpinner = startSpinner(() => waitingMessage(request, requestContext, runtime.elapsed() - startedAt));
  try {
    const received = await exchangeRequest(send, request, requestContext, runtime.now);
    if (!requestContext.operation.streams)
      return { response: received, parsedResponse: await readResponse(received, requestContext) };
    const { firstByte, response } = await peekBody(received).catch((error: unknown) => {
      throw failureFromBodyError(error, received, requestContext, undefined);
    });
    return {
      response,
      parsedResponse: isEventStream(response, firstByte) ? undefined : await readResponse(response, requestContext),
    };
  } finally {
    stopSpinner();
  }
}

// While a long body leaves, how far it has come.
function waitingMessage({ body }: Request, { progress }: RequestContext, elapsedMs: number): string {
  if (body instanceof Uint8Array || progress.phase !== 'part') return 'waiting for the answer';
  return formatTransfer('sending', { bytes: progress.sentBytes, total: body.length, elapsedMs });
}

// A server may stream unasked, answer plainly in spite of `stream: true` (SERVERS.md), or name either as the other: what
// it begins with decides where that is clear, `{` of a reply or `data:` and `:` of an event.
function isEventStream({ headers }: Response, firstByte: number | undefined): boolean {
  if (firstByte === 0x7b) return false;
  if (firstByte === 0x64 || firstByte === 0x3a) return true;
  return getHeader(headers, 'content-type')?.toLowerCase().startsWith('text/event-stream') ?? false;
}
