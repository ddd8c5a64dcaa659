import { formatByteSize } from '../files/byte-size.ts';
import { prependChunk } from '../files/read-input.ts';
import { CARRIAGE_RETURN, LINE_FEED, SPACE, TAB } from '../json/json-bytes.ts';
import { UnusableBodyError } from './collect-body.ts';
import type { Response } from './message.ts';

// The whitespace of JSON and of event streams, and the bytes of a byte order mark.
const WHITESPACE_BYTES = [SPACE, TAB, LINE_FEED, CARRIAGE_RETURN, 0xef, 0xbb, 0xbf];

// Whitespace before a body means nothing; some servers send it to keep the connection alive.
const MAX_LEADING_SPACE_BYTES = 64 * 1024 * 1024;

/**
 * Waits for the first byte of a body that is not whitespace and returns it, with a response whose body still has it.
 * Throws what the connection throws, and UnusableBodyError if more than 64 MiB of whitespace comes first.
 */
export async function peekBody(response: Response): Promise<{ firstByte: number | undefined; response: Response }> {
  if (response.completeBody) return { firstByte: firstNonSpaceByte(response.completeBody), response };
  const rest = response.body[Symbol.asyncIterator]();
  let spaceBytes = 0;
  for (let next = await rest.next(); !next.done; next = await rest.next()) {
    const firstByte = firstNonSpaceByte(next.value);
    if (firstByte !== undefined) return { firstByte, response: { ...response, body: prependChunk(next.value, rest) } };
    spaceBytes += next.value.length;
    if (spaceBytes <= MAX_LEADING_SPACE_BYTES) continue;
    await rest.return?.();
    throw new UnusableBodyError(`it starts with more than ${formatByteSize(MAX_LEADING_SPACE_BYTES)} of whitespace`);
  }
  return { firstByte: undefined, response: { ...response, body: prependChunk(new Uint8Array(), rest) } };
}

function firstNonSpaceByte(chunk: Uint8Array): number | undefined {
  return chunk.find((byte) => !WHITESPACE_BYTES.includes(byte));
}
