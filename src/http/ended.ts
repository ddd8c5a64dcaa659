import type { Reply } from './message.ts';

/** A reply that calls back when its body was read, to its end or not; at once where all of it is there. */
export async function endedWith(reply: Reply, end: (isWhole: boolean) => Promise<void>): Promise<Reply> {
  if (!reply.whole) return { ...reply, body: readUntil(reply.body, end) };
  await end(true);
  return reply;
}

async function* readUntil(body: Reply['body'], end: (isWhole: boolean) => Promise<void>): AsyncGenerator<Uint8Array> {
  let isWhole = false;
  try {
    yield* body;
    isWhole = true;
  } finally {
    await end(isWhole);
  }
}
