import type { Middleware } from './message.ts';
import { notifyBodyEnd } from './notify-body-end.ts';

/** Stops the pieces of a body when a refusal comes before they have all left: who refused it would read them for nothing. */
export const stopUploadOnRefusal: Middleware = (next) => async (request) => {
  const { body } = request;
  if (body instanceof Uint8Array) return next(request);
  let isRefused = false;
  let onResponseEnd = (): void => {};
  const responseEnded = new Promise<void>((resolve) => {
    onResponseEnd = resolve;
  });
  const chunks = async function* (): AsyncGenerator<Uint8Array> {
    for await (const chunk of body.chunks()) {
      if (isRefused) {
        // The connection has to last until the answer was read.
        await responseEnded;
        throw new Error('the request was refused');
      }
      yield chunk;
    }
  };
  const response = await next({ ...request, body: { length: body.length, chunks } });
  isRefused = response.status >= 300;
  return notifyBodyEnd(response, async () => onResponseEnd());
};
