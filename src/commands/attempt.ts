import { type Answer, failureOfBody, readAnswer } from '../call/answer.ts';
import { exchange } from '../call/exchange.ts';
import type { Sent } from '../call/sent.ts';
import type { Context } from '../cli/context.ts';
import { header, type Reply, type Request, type Send } from '../http/message.ts';
import { peek } from '../http/peek.ts';
import { transferText } from '../output/transfer.ts';

/** What a successful attempt brought: a whole answer, or a stream of events that is still to be read. */
export interface Answered {
  readonly reply: Reply;
  readonly answer: Answer | undefined;
}

/** Sends a request once and reads the answer, unless it is a stream. Throws the Failure it is otherwise. */
export async function attempt(send: Send, request: Request, sent: Sent, { runtime, spin }: Context): Promise<Answered> {
  const start = runtime.elapsed();
  const stopSpinner = spin(() => waitingText(request, sent, runtime.elapsed() - start));
  try {
    const whole = await exchange(send, request, sent, runtime.now);
    if (!sent.operation.streams) return { reply: whole, answer: await readAnswer(whole, sent) };
    const { first, reply } = await peek(whole).catch((error: unknown) => {
      throw failureOfBody(error, whole, sent, undefined);
    });
    return { reply, answer: isStream(reply, first) ? undefined : await readAnswer(reply, sent) };
  } finally {
    stopSpinner();
  }
}

// While a long body leaves, how far it has come.
function waitingText({ body }: Request, { progress }: Sent, milliseconds: number): string {
  if (body instanceof Uint8Array || progress.phase !== 'part') return 'waiting for the answer';
  return transferText('sending', { bytes: progress.sent, total: body.length, milliseconds });
}

// A server may stream unasked, answer plainly in spite of `stream: true` (SERVERS.md), or name either as the other: what
// it begins with decides where that is clear, `{` of a reply or `data:` and `:` of an event.
function isStream({ headers }: Reply, first: number | undefined): boolean {
  if (first === 0x7b) return false;
  if (first === 0x64 || first === 0x3a) return true;
  return header(headers, 'content-type')?.toLowerCase().startsWith('text/event-stream') ?? false;
}
