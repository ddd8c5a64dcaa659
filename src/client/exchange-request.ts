import type { Request, Response, Send } from '../http/message.ts';
import { failureFromError, failureFromStatus } from './failure.ts';
import type { RequestContext } from './request-context.ts';

/** The answer to a request, if its status says success. Throws the Failure it is otherwise. */
export async function exchangeRequest(
  send: Send,
  request: Request,
  context: RequestContext,
  now: () => number,
): Promise<Response> {
  let response: Response;
  try {
    response = await send(request);
  } catch (error) {
    throw failureFromError(error, context);
  }
  if (response.status >= 200 && response.status < 300) return response;
  throw await failureFromStatus(response, context, now());
}
