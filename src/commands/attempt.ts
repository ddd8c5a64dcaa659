import { type Answer, readAnswer } from '../call/answer.ts';
import { exchange } from '../call/exchange.ts';
import type { Sent } from '../call/sent.ts';
import type { Context } from '../cli/context.ts';
import { header, type Reply, type Request, type Send } from '../http/message.ts';

/** What a successful attempt brought: a whole answer, or a stream of events that is still to be read. */
export interface Answered {
  readonly reply: Reply;
  readonly answer: Answer | undefined;
}

/** Sends a request once and reads the answer, unless it is a stream. Throws the Failure it is otherwise. */
export async function attempt(send: Send, request: Request, sent: Sent, { runtime, spin }: Context): Promise<Answered> {
  const stopSpinner = spin('waiting for the answer');
  try {
    const reply = await exchange(send, request, sent, runtime.now);
    return { reply, answer: isEventStream(reply) ? undefined : await readAnswer(reply, sent) };
  } finally {
    stopSpinner();
  }
}

// A server may stream unasked, or answer plainly in spite of `stream: true` (SERVERS.md): what it says it sends decides.
function isEventStream({ headers }: Reply): boolean {
  return header(headers, 'content-type')?.toLowerCase().startsWith('text/event-stream') ?? false;
}
