import type { Layer, Reply } from './message.ts';

/** Stops the pieces of a body when a refusal comes before they have all left: who refused it would read them for nothing. */
export const untilRefused: Layer = (next) => async (request) => {
  const { body } = request;
  if (body instanceof Uint8Array) return next(request);
  let isRefused = false;
  let end = (): void => {};
  const answered = new Promise<void>((resolve) => {
    end = resolve;
  });
  const pieces = async function* (): AsyncGenerator<Uint8Array> {
    for await (const piece of body.pieces()) {
      if (isRefused) {
        // The connection has to last until the answer was read.
        await answered;
        throw new Error('the request was refused');
      }
      yield piece;
    }
  };
  const reply = await next({ ...request, body: { length: body.length, pieces } });
  isRefused = reply.status >= 300;
  if (!reply.whole) return { ...reply, body: endedBy(reply.body, end) };
  end();
  return reply;
};

async function* endedBy(body: Reply['body'], end: () => void): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } finally {
    end();
  }
}
