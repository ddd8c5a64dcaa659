import type { Response } from './message.ts';

/** A reply that calls back when its body was read, to its end or not; at once where all of it is there. */
export async function notifyBodyEnd(
  response: Response,
  onEnd: (isComplete: boolean) => Promise<void>,
): Promise<Response> {
  if (!response.completeBody) return { ...response, body: readAndNotify(response.body, onEnd) };
  await onEnd(true);
  return response;
}

async function* readAndNotify(
  body: Response['body'],
  onEnd: (isComplete: boolean) => Promise<void>,
): AsyncGenerator<Uint8Array> {
  let isWhole = false;
  try {
    yield* body;
    isWhole = true;
  } finally {
    await onEnd(isWhole);
  }
}
