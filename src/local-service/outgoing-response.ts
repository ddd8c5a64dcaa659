import type { IncomingMessage, ServerResponse } from 'node:http';
import { getHeader, type Response } from '../http/message.ts';
import { expectsContinue, type OnShutdown, unreadChunks } from './incoming-request.ts';

const MAX_DISCARDED_BYTES = 256 * 1024 * 1024;

const SHUTDOWN_EVENT = `data: ${JSON.stringify({
  error: { message: 'the service was stopped', type: 'internal_error', param: null, code: 503 },
})}\n\n`;

/**
 * Sends a response as fast as the client reads it. Throws if its body throws. At shutdown an event stream that is
 * still open ends with an error event, and any other response is cut.
 */
export async function writeResponse(
  { status, headers, body, completeBody }: Response,
  request: IncomingMessage,
  response: ServerResponse,
  onShutdown: OnShutdown,
): Promise<void> {
  // The rest of a body that was refused unread would be taken for the next request.
  if (!request.complete) response.setHeader('Connection', 'close');
  response.writeHead(status, headers.flat());
  if (completeBody && request.complete && !response.destroyed) return void response.end(completeBody);
  const isEventStream = getHeader(headers, 'content-type')?.startsWith('text/event-stream');
  const withdraw = onShutdown(() => void (isEventStream ? response.end(SHUTDOWN_EVENT) : response.destroy()));
  try {
    for await (const chunk of body) {
      if (response.destroyed || response.writableEnded) return;
      if (!response.write(chunk)) await waitForDrain(response);
    }
    await discardUnreadBody(request);
    response.end();
  } finally {
    withdraw();
  }
}

// Closing while a client still sends would reset the connection and lose the response, so the rest is read, up to a limit.
async function discardUnreadBody(request: IncomingMessage): Promise<void> {
  // A client that got no 100 Continue sends no body.
  if (request.complete || request.destroyed || expectsContinue(request)) return;
  let remainingBytes = MAX_DISCARDED_BYTES;
  try {
    for await (const chunk of unreadChunks(request)) {
      remainingBytes -= chunk.length;
      if (remainingBytes <= 0) return;
    }
  } catch {
    // A client that disconnected waits for no response.
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
