import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Reply } from '../http/message.ts';
import { asksToContinue, unread } from './incoming.ts';

const MOST_DISCARDED = 256 * 1024 * 1024;

/** Sends a reply as fast as the client reads it. Throws where the reply is cut. */
export async function outgoing(
  { status, headers, body }: Reply,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  // A body that was refused unread would be taken for the next request.
  if (!request.complete) response.setHeader('Connection', 'close');
  response.writeHead(status, headers.flat());
  for await (const piece of body) {
    if (response.destroyed) return;
    if (!response.write(piece)) await drained(response);
  }
  await discardRest(request);
  response.end();
}

// Closing while a client still sends would reset the connection and lose the answer, so the rest is read, up to a bound.
async function discardRest(request: IncomingMessage): Promise<void> {
  // Who was not told to go on sends no rest.
  if (request.complete || request.destroyed || asksToContinue(request)) return;
  let rest = MOST_DISCARDED;
  try {
    for await (const piece of unread(request)) {
      rest -= piece.length;
      if (rest <= 0) return;
    }
  } catch {
    // A client that is gone waits for no answer.
  }
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}
