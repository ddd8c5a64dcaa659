import { Buffer } from 'node:buffer';

/** A body was longer than what we are willing to hold. */
export class TooLarge extends Error {
  override readonly name = 'TooLarge';
}

/** All bytes of a body. Throws TooLarge beyond `most` bytes, and what the connection throws where it is cut. */
export async function collect(body: AsyncIterable<Uint8Array>, most: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of body) {
    length += piece.length;
    if (length > most) throw new TooLarge(`the answer has more than ${most} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** The first bytes of a body, at most `most` of them; a body that is cut ends where it was cut. */
export async function collectStart(body: AsyncIterable<Uint8Array>, most: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const piece of body) {
      pieces.push(piece);
      length += piece.length;
      if (length >= most) break;
    }
  } catch {
    // What has arrived of an error message is better than none.
  }
  return Buffer.concat(pieces).subarray(0, most);
}
