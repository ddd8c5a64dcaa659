import { Buffer } from 'node:buffer';
import { JsonError } from '../../json/json-error.ts';
import { scanString } from '../../json/scan-token.ts';

/** A text with zeros in place of NaN and Infinity, and their offsets. */
export interface FixedText {
  readonly bytes: Buffer;
  readonly offsets: readonly number[];
}

const QUOTE = 0x22;
const nonFiniteLiterals = ['-Infinity', 'Infinity', 'NaN'].map((word) => Buffer.from(word));

/**
 * Replaces each NaN, Infinity and -Infinity, which Python writes into JSON, with a zero, so that the rest of the text can be
 * parsed. All offsets stay the same. Undefined if there is none.
 */
export function replaceNonFiniteNumbers(text: Buffer): FixedText | undefined {
  const offsets = Array.from(findNonFiniteNumbers(text));
  if (offsets.length === 0) return undefined;
  const bytes = Buffer.from(text);
  for (const { at, length } of offsets) bytes.fill(' ', at, at + length).write('0', at);
  return { bytes, offsets: offsets.map(({ at }) => at) };
}

function* findNonFiniteNumbers(text: Buffer): Generator<{ at: number; length: number }> {
  for (let at = 0; at < text.length; ) {
    if (text[at] === QUOTE) {
      at = stringEnd(text, at);
      continue;
    }
    const found = nonFiniteLiterals.find(
      (word) => word[0] === text[at] && word.equals(text.subarray(at, at + word.length)),
    );
    if (found) yield { at, length: found.length };
    at += found?.length ?? 1;
  }
}

function stringEnd(text: Buffer, at: number): number {
  try {
    return scanString(text, at);
  } catch (error) {
    // The rest is invalid for another reason.
    if (error instanceof JsonError) return text.length;
    throw error;
  }
}
