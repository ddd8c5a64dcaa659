import { Buffer } from 'node:buffer';
import { LINE_FEED } from '../json/json-bytes.ts';
import type { Resemblance } from '../json/json-error.ts';
import { formatByteSize } from './byte-size.ts';

export interface InputLine {
  readonly number: number;
  readonly offset: number;
  /** Its length in bytes, with its line feed. */
  readonly length: number;
  /** Undefined for a line that cannot be used. */
  readonly bytes: Buffer | undefined;
  /** Why, unless it is above the limit. */
  readonly problem?: string;
  /** What a text that is not JSON seems to be. */
  readonly resembles?: Resemblance;
  /** The line is a row of a table, whose number it has. */
  readonly isRow?: true;
  /** The digest of that row. */
  readonly rowDigest?: string;
  /** The regular expressions that its response is expected to match, by the flag. */
  readonly expressions?: ReadonlyMap<string, RegExp> | undefined;
  /** The last line, without a line feed. */
  readonly isTorn: boolean;
}

// An endless device has no line feed.
const MAX_SKIPPED_LINE_BYTES = 256 * 1024 * 1024;

/** Number and offset of the first line. */
export type LineStart = Pick<InputLine, 'number' | 'offset'>;

/** The lines of a text of any length, one by one: see splitLineBatches. */
export async function* splitLines(...parameters: Parameters<typeof splitLineBatches>): AsyncGenerator<InputLine> {
  for await (const lines of splitLineBatches(...parameters)) yield* lines;
}

/** The lines of a text of any length, in arrays, one per chunk; lines above `maxLineBytes` come without bytes. Throws an Error at one that also exceeds 256 MiB, or `maxSkippedBytes`. */
export async function* splitLineBatches(
  chunks: AsyncIterable<Uint8Array>,
  maxLineBytes: number,
  maxSkippedBytes = MAX_SKIPPED_LINE_BYTES,
  start: LineStart = { number: 1, offset: 0 },
): AsyncGenerator<InputLine[]> {
  const limitBytes = Math.max(maxLineBytes, maxSkippedBytes);
  let pendingChunks: Uint8Array[] = [];
  let { number, offset } = start;
  let length = 0;
  const finishLine = (last: Uint8Array, isTorn: boolean): InputLine => {
    const size = length + last.length;
    const bytes =
      size > maxLineBytes
        ? undefined
        : pendingChunks.length === 0
          ? Buffer.from(last.buffer, last.byteOffset, last.byteLength)
          : Buffer.concat([...pendingChunks, last]);
    const line = { number, offset, length: isTorn ? size : size + 1, bytes, isTorn };
    pendingChunks = [];
    length = 0;
    offset += line.length;
    number += 1;
    return line;
  };
  for await (const chunk of chunks) {
    const lines: InputLine[] = [];
    let from = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, from)) {
      lines.push(finishLine(chunk.subarray(from, end), false));
      from = end + 1;
    }
    if (lines.length > 0) yield lines;
    const rest = chunk.subarray(from);
    length += rest.length;
    if (length > limitBytes)
      throw new Error(`line ${number} has more than ${formatByteSize(limitBytes)}, the limit for a line`);
    if (length > maxLineBytes) pendingChunks = [];
    else if (rest.length > 0) pendingChunks.push(rest);
  }
  if (length > 0) yield [finishLine(Buffer.alloc(0), true)];
}

const MAX_RANGES = 20;

/** Line numbers as ascending ranges: `3, 7-12`; of many ranges the first 20, and how many more there are. */
export function formatLineRanges(lines: Iterable<number>): string {
  const ranges = createLineRanges();
  for (const line of [...lines].sort((left, right) => left - right)) ranges.add(line);
  return ranges.format();
}

/** Line numbers that come in ascending order, perhaps several times, however many there are. */
export function createLineRanges() {
  const shown: [first: number, last: number][] = [];
  let count = 0;
  let rangeCount = 0;
  let last: number | undefined;
  return {
    add: (from: number, to = from): void => {
      if (from === last) return;
      count += to - from + 1;
      const isNext = from - 1 === last;
      if (!isNext) rangeCount += 1;
      const range = shown[rangeCount - 1];
      if (range) range[1] = to;
      else if (rangeCount <= MAX_RANGES) shown.push([from, to]);
      last = to;
    },
    count: () => count,
    format: (): string => {
      const texts = shown.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`));
      const more = rangeCount - shown.length;
      return texts.join(', ') + (more > 0 ? ` and ${more} more range${more === 1 ? '' : 's'}` : '');
    },
  };
}
