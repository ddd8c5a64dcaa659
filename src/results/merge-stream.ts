import { Failure } from '../errors.ts';
import type { Fields } from '../fields/field.ts';
import { compactJson } from '../json/format-json.ts';
import type { JsonNode } from '../json/json-node.ts';
import { parseJson } from '../json/parse-json.ts';
import { createChunkMerger } from './chunk-merger.ts';
import { createMemoryBudget, MAX_STREAM_BYTES } from './memory-budget.ts';

/** The response of a stream that is read to its end before it is used. */
export interface MergedStream {
  /** The received chunks, merged into one JSON text on one line. */
  readonly json: string;
  /** The reason why that is not the complete response. */
  readonly failure: Failure | undefined;
}

// A chat of thousands of tokens with log probabilities has less.
const LARGE_STREAM_BYTES = 4 * 1024 * 1024;

/**
 * Merges the chunks of a stream by the merge rules of `fields`. `createFailure` is for a stream of more than 8 MiB, the
 * rest of which is not read. Of several large streams, `takeTurn` lets one at a time be held as a whole.
 */
export async function mergeStream(
  chunks: AsyncIterable<JsonNode>,
  fields: Fields,
  createFailure: (message: string) => Failure,
  takeTurn?: () => Promise<() => void>,
): Promise<MergedStream> {
  const budget = createMemoryBudget(MAX_STREAM_BYTES);
  const merger = createChunkMerger(fields, budget);
  let failure: Failure | undefined;
  let endTurn: (() => void) | undefined;
  try {
    for await (const chunk of chunks) {
      merger.addChunk(chunk);
      // The stream may never end.
      if (!budget.isWithinLimit()) break;
      if (budget.reservedBytes() > LARGE_STREAM_BYTES) endTurn ??= await takeTurn?.();
    }
    if (!budget.isWithinLimit())
      failure = createFailure(`the stream exceeds the limit of ${MAX_STREAM_BYTES / 1024 / 1024} MiB`);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    failure = error;
  }
  try {
    return { json: compactJson(parseJson(merger.toJson())), failure };
  } finally {
    endTurn?.();
  }
}
