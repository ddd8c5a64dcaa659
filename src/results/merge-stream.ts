import { Failure } from '../errors.ts';
import type { Fields } from '../fields/field.ts';
import { formatByteSize } from '../files/byte-size.ts';
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

/** Merges the chunks of a stream by the merge rules of `fields`. `createFailure` is for a stream of more than 8 MiB. */
export async function mergeStream(
  chunks: AsyncIterable<JsonNode>,
  fields: Fields,
  createFailure: (message: string) => Failure,
): Promise<MergedStream> {
  const budget = createMemoryBudget(MAX_STREAM_BYTES);
  const merger = createChunkMerger(fields, budget);
  let failure: Failure | undefined;
  try {
    for await (const chunk of chunks) merger.addChunk(chunk);
    if (!budget.isWithinLimit())
      failure = createFailure(`the stream exceeds the limit of ${formatByteSize(MAX_STREAM_BYTES)}`);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    failure = error;
  }
  return { json: compactJson(parseJson(merger.toJson())), failure };
}
