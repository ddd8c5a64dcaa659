import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Response } from '../http/message.ts';
import { expectsContinue, unreadChunks } from './incoming-request.ts';

const MAX_DISCARDED_BYTES = 256 * 1024 * 1024;

/** Sends a reply as fast as the client reads it. Throws where the reply is cut. */
export async function writeResponse(
  { status, headers, body }: Response,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  // A body that was refused unread would be taken for the next request.
  if (!request.complete) response.setHeader('Connection', 'close');
  response.writeHead(status, headers.flat());
  for await (const chunk of body) {
    if (response.destroyed) return;
    if (!response.write(chunk)) await waitForDrain(response);
  }
  await discardUnreadBody(request);
  response.end();
}

// Closing while a client still sends would reset the connection and lose the answer, so the rest is read, up to a bound.
async function discardUnreadBody(request: IncomingMessage): Promise<void> {
  // Who was not told to go on sends no rest.
  if (request.complete || request.destroyed || expectsContinue(request)) return;
  let remainingBytes = MAX_DISCARDED_BYTES;
  try {
    for await (const chunk of unreadChunks(request)) {
      remainingBytes -= chunk.length;
      if (remainingBytes <= 0) return;
    }
  } catch {
    // A client that is gone waits for no answer.
  }
}

function waitForDrain(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const onWritable = (): void => {
      response.off('drain', onWritable).off('close', onWritable);
      resolve();
    };
    response.on('drain', onWritable).on('close', onWritable);
  });
}
