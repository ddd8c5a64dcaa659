import { Buffer } from 'node:buffer';
import { indexValue, MAX_TAPE_VALUES, skipWhitespace } from './index-value.ts';
import { JsonError, unexpectedByteError } from './json-error.ts';
import { type JsonDocument, type JsonNode, rootOf } from './json-node.ts';
import { decodeUtf8 } from './utf8.ts';

/**
 * Indexes one JSON value of any depth without changing a byte of it; a byte order mark is dropped.
 * Throws JsonError for invalid UTF-8, for anything RFC 8259 does not allow, and for more than `maxValues` values and keys.
 */
export function parseJson(input: Uint8Array | string, maxValues = MAX_TAPE_VALUES): JsonDocument {
  const bytes = typeof input === 'string' ? Buffer.from(input) : decodeUtf8(input, true);
  const start = skipWhitespace(bytes, 0);
  if (start === bytes.length) throw new JsonError('the text is empty', 0);
  const { tape, end } = indexValue(bytes, start, Math.min(maxValues, countSeparators(bytes) + 1));
  const rest = skipWhitespace(bytes, end);
  if (rest < bytes.length) throw unexpectedByteError(bytes, rest, 'the end of the input');
  return { bytes, tape };
}

/** The outermost value of some bytes, as parseJson reads them; undefined if they are not JSON. */
export function tryParseJson(bytes: Uint8Array): JsonNode | undefined {
  try {
    return rootOf(parseJson(bytes));
  } catch (error) {
    if (error instanceof JsonError) return undefined;
    throw error;
  }
}

// All values and keys but the first follow a separator, so the index is allocated once. Separators inside strings only make
// it too large, and the system does not allocate pages that are never written.
const separatorBytes = new Uint8Array(256);
for (const byte of ',:[{') separatorBytes[byte.charCodeAt(0)] = 1;

function countSeparators(bytes: Buffer): number {
  let count = 0;
  for (let at = 0; at < bytes.length; at += 1) count += separatorBytes[bytes[at] ?? 0] ?? 0;
  return count;
}
