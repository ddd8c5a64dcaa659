import type { Reply, Request, Send } from '../http/message.ts';
import { failureOfError, failureOfStatus } from './failures.ts';
import type { Sent } from './sent.ts';

/** The answer to a request, if its status says success. Throws the Failure it is otherwise. */
export async function exchange(send: Send, request: Request, sent: Sent, now: () => number): Promise<Reply> {
  let reply: Reply;
  try {
    reply = await send(request);
  } catch (error) {
    throw failureOfError(error, sent);
  }
  if (reply.status >= 200 && reply.status < 300) return reply;
  throw await failureOfStatus(reply, sent, now());
}
