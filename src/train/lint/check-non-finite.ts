import { Buffer } from 'node:buffer';
import { QUOTE } from '../../json/json-bytes.ts';
import { JsonError } from '../../json/json-error.ts';
import type { JsonNode } from '../../json/json-node.ts';
import { scanString } from '../../json/parse-json.ts';
import { InvalidTextError } from '../stream/invalid-text-error.ts';
import type { TrajectoryChecks } from '../stream/trajectory-checks.ts';
import type { TrajectoryEvent } from '../stream/trajectory-event.ts';

/** A checked trajectory. */
export interface CheckedTrajectory {
  readonly root: JsonNode;
  /** The offsets of NaN and Infinity in it, which read as 0. */
  readonly nonFiniteOffsets: readonly number[];
  /** Why it is not valid JSON. */
  readonly syntaxError: InvalidTextError | undefined;
}

/** Checks a trajectory, even if NaN or Infinity make it invalid JSON. Throws InvalidTextError for other invalid JSON. */
export function checkAllowingNonFinite(
  event: TrajectoryEvent & { readonly kind: 'trajectory' },
  label: string,
  checks: TrajectoryChecks,
): CheckedTrajectory {
  try {
    return { root: checks.checkTrajectory(event, label), nonFiniteOffsets: [], syntaxError: undefined };
  } catch (error) {
    if (!(error instanceof InvalidTextError)) throw error;
    const fixed = replaceNonFiniteNumbers(event.bytes);
    if (!fixed) throw error;
    return {
      root: checks.checkTrajectory({ ...event, bytes: fixed.bytes }, label),
      nonFiniteOffsets: fixed.offsets,
      syntaxError: error,
    };
  }
}

/** A text with zeros in place of NaN and Infinity, and their offsets. */
interface FixedText {
  readonly bytes: Buffer;
  readonly offsets: readonly number[];
}

const nonFiniteLiterals = ['-Infinity', 'Infinity', 'NaN'].map((word) => Buffer.from(word));

/**
 * Replaces each NaN, Infinity and -Infinity, which Python writes into JSON, with a zero, so that the rest of the text can be
 * parsed. All offsets stay the same. Undefined if there is none.
 */
function replaceNonFiniteNumbers(text: Buffer): FixedText | undefined {
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
