import { Failure } from '../errors.ts';
import type { Fields } from '../fields/field.ts';
import { formatByteSize } from '../files/byte-size.ts';
import { type JsonNode, rootOf } from '../json/json-node.ts';
import { parseJson } from '../json/parse-json.ts';
import { compactJson } from '../json/write-json.ts';
import { createStreamMerger, MAX_STREAM_BYTES } from './chunk-merger.ts';

interface MergedStream {
  /** The received chunks, merged into one JSON text on one line. */
  readonly json: string;
  readonly failure: Failure | undefined;
  readonly warnings: readonly string[];
}

/** The warning about a value that the merged response lacks. */
export function unmergedWarning(description: string): string {
  return `${description} was left out of the merged response; --format jsonl prints every chunk`;
}

/**
 * Merges the chunks of a stream by the merge rules of `fields`. `createFailure` is for a stream of more than 8 MiB, the
 * rest of which is not read. `onHeld` waits until the stream may hold so many bytes.
 */
export async function mergeStream(
  chunks: AsyncIterable<JsonNode>,
  fields: Fields,
  createFailure: (message: string) => Failure,
  onHeld?: (bytes: number) => Promise<void>,
): Promise<MergedStream> {
  const warnings: string[] = [];
  const merger = createStreamMerger(fields, (description) => void warnings.push(unmergedWarning(description)));
  let failure: Failure | undefined;
  try {
    for await (const chunk of chunks) {
      merger.add(chunk);
      // The stream may never end.
      if (merger.heldBytes() > MAX_STREAM_BYTES) break;
      await onHeld?.(merger.heldBytes());
    }
    if (merger.heldBytes() > MAX_STREAM_BYTES)
      failure = createFailure(`the stream exceeds the limit of ${formatByteSize(MAX_STREAM_BYTES)}`);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    failure = error;
  }
  return { json: compactJson(rootOf(parseJson(merger.toJson()))), failure, warnings };
}
