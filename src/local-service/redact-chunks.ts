import { Buffer } from 'node:buffer';
import { replaceSecrets, trailingPrefixLength } from '../output/reporter.ts';

/**
 * The bytes of a body without some secrets, even if one is split between two chunks. Bytes that may begin a secret
 * are held back until the next chunk; all others pass at once.
 */
export async function* redactChunks(
  chunks: AsyncIterable<Uint8Array>,
  secrets: readonly string[],
): AsyncGenerator<Uint8Array> {
  if (secrets.length === 0) return yield* chunks;
  let held = '';
  for await (const chunk of chunks) {
    // Latin-1 keeps every byte, and secrets in headers are ASCII.
    const text = replaceSecrets(held + Buffer.from(chunk).toString('latin1'), secrets);
    const heldChars = Math.max(...secrets.map((secret) => trailingPrefixLength(text, secret, 1)));
    held = text.slice(text.length - heldChars);
    if (heldChars < text.length) yield Buffer.from(text.slice(0, text.length - heldChars), 'latin1');
  }
  if (held !== '') yield Buffer.from(held, 'latin1');
}
