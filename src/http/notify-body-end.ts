import type { Response } from './message.ts';

/** A response that calls back when its body was read, to its end or not; at once if the whole body has arrived. */
export async function notifyBodyEnd(response: Response, onEnd: BodyEndListener): Promise<Response> {
  if (!response.completeBody) return { ...response, body: readAndNotify(response.body, onEnd) };
  await onEnd(true);
  return response;
}

type BodyEndListener = (isComplete: boolean) => Promise<void> | undefined;

async function* readAndNotify(body: Response['body'], onEnd: BodyEndListener): AsyncGenerator<Uint8Array> {
  let isComplete = false;
  try {
    yield* body;
    isComplete = true;
  } finally {
    await onEnd(isComplete);
  }
}
