import { Buffer } from 'node:buffer';

/** An answer came that cannot be taken: longer than what can be held, or in an encoding that cannot be read. */
export class Unusable extends Error {
  override readonly name = 'Unusable';
}

// Room for a body of unknown length. Of what is set aside only the pages that are written to take memory, while growing
// step by step would hold it twice.
const UNKNOWN = 32 * 1024 * 1024;

/**
 * All bytes of a body; with `expected`, its length, they are held once only. Throws Unusable beyond `most` bytes, and
 * what the connection throws where it is cut.
 */
export async function collect(body: AsyncIterable<Uint8Array>, most: number, expected = 0): Promise<Buffer> {
  let bytes: Buffer = Buffer.allocUnsafeSlow(Math.min(expected || UNKNOWN, most));
  let length = 0;
  for await (const piece of body) {
    const needed = length + piece.length;
    if (needed > most) throw new Unusable(`the answer has more than ${most} bytes`);
    if (needed > bytes.length) bytes = grown(bytes, length, Math.min(most, Math.max(needed, bytes.length * 2)));
    bytes.set(piece, length);
    length = needed;
  }
  return bytes.subarray(0, length);
}

function grown(bytes: Buffer, length: number, size: number): Buffer {
  const larger = Buffer.allocUnsafe(size);
  larger.set(bytes.subarray(0, length));
  return larger;
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
