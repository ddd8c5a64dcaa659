import { notifyBodyEnd, observeChunks } from './body-chunks.ts';
import type { Middleware, Request, Response, Send, StreamedBody } from './message.ts';

/** Stops a streamed body when a refusal arrives before it has left completely: the server would discard the rest. */
export const stopUploadOnRefusal: Middleware = (next) => (request) => {
  const { body } = request;
  return body instanceof Uint8Array ? next(request) : sendStoppable(request, body, next);
};

async function sendStoppable(request: Request, { length, chunks }: StreamedBody, next: Send): Promise<Response> {
  let isRefused = false;
  let onResponseEnd = (): void => {};
  const responseEnded = new Promise<void>((resolve) => {
    onResponseEnd = resolve;
  });
  const throwIfRefused = async (): Promise<void> => {
    if (!isRefused) return;
    // The connection has to last until the response was read.
    await responseEnded;
    throw new Error('the request was refused');
  };
  const stoppableBody = { length, chunks: () => observeChunks(chunks(), throwIfRefused) };
  const response = await next({ ...request, body: stoppableBody });
  isRefused = response.status >= 300;
  return notifyBodyEnd(response, async () => onResponseEnd());
}
