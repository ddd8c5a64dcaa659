import { Buffer } from 'node:buffer';
import { Failure } from '../errors.ts';
import type { Fields } from '../fields/field.ts';
import { type JsonDocument, type JsonNode, rootOf } from '../json/json-node.ts';
import { parseJson } from '../json/parse-json.ts';
import { compactJson } from '../json/write-json.ts';
import { createChunkMerger, type Merging } from './chunk-merger.ts';

/** Of a stream that is folded. Text and lines of JSON that are printed as they arrive have no limit. */
export const MAX_STREAM_BYTES = 8 * 1024 * 1024;

// A chat of thousands of tokens with log probabilities has less.
const LARGE_STREAM_BYTES = 4 * 1024 * 1024;

// The memory of a string in addition to its bytes: a stream can consist of single characters or many empty parts.
const STRING_OVERHEAD_BYTES = 64;

/** The chunks of a stream as one response. */
export interface FoldedStream {
  readonly doc: JsonDocument;
  readonly failure: Failure | undefined;
  /** About the values that the response lacks. */
  readonly warnings: readonly string[];
  /** Why the stream could not be printed. */
  readonly printError?: unknown;
}

export interface FoldHooks {
  /** The failure of a stream of more than 8 MiB, the rest of which is not read; without it, such a stream is folded in part. */
  readonly createLimitFailure?: (() => Failure) | undefined;
  /** Called after a chunk was merged. A Failure that it throws ends the stream. */
  readonly onChunk?: (chunk: JsonNode) => Promise<void>;
  readonly onText?: Merging['onText'] | undefined;
  /** Waits until the stream may hold so many bytes, of which `largeBytes` are many. */
  readonly hold?: ((bytes: number, largeBytes: number) => Promise<void>) | undefined;
}

/** Merges the chunks of a stream by the merge rules of `fields`, up to its failure. */
export async function foldStream(
  chunks: AsyncIterable<JsonNode>,
  fields: Fields,
  { createLimitFailure, onChunk, onText = () => {}, hold }: FoldHooks,
): Promise<FoldedStream> {
  let heldBytes = 0;
  const tryReserve = (text: string, replaced?: string): boolean => {
    if (heldBytes > MAX_STREAM_BYTES) return false;
    heldBytes += stringBytes(text) - (replaced === undefined ? 0 : stringBytes(replaced));
    return heldBytes <= MAX_STREAM_BYTES;
  };
  const unmerged = createUnmergedWarnings();
  const merger = createChunkMerger(fields, { tryReserve, onText, onUnmerged: unmerged.add });
  let failure: Failure | undefined;
  try {
    for await (const chunk of chunks) {
      merger.add(chunk);
      if (createLimitFailure && heldBytes > MAX_STREAM_BYTES) throw createLimitFailure();
      await hold?.(heldBytes, LARGE_STREAM_BYTES);
      await onChunk?.(chunk);
    }
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    failure = error;
  }
  const json = compactJson(rootOf(parseJson(merger.toJson())));
  return { doc: parseJson(Buffer.from(json)), failure, warnings: unmerged.warnings() };
}

function stringBytes(text: string): number {
  return Buffer.byteLength(text) + STRING_OVERHEAD_BYTES;
}

// A response has a few; the names come from the server.
const MAX_DESCRIPTIONS = 20;
const MAX_COUNTED_DESCRIPTIONS = 10_000;

function createUnmergedWarnings() {
  const descriptions = new Set<string>();
  return {
    add: (description: string): void => {
      if (descriptions.size < MAX_COUNTED_DESCRIPTIONS) descriptions.add(description);
    },
    warnings: (): string[] => {
      const more = descriptions.size - MAX_DESCRIPTIONS;
      const rest = more === 1 ? 'a value of another field' : `a value of each of ${more} more fields`;
      return [...Array.from(descriptions).slice(0, MAX_DESCRIPTIONS), ...(more > 0 ? [rest] : [])].map(
        (description) => `${description} was left out of the merged response; --format jsonl prints every chunk`,
      );
    },
  };
}
