import { Buffer } from 'node:buffer';
import { hash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { type Failure, safetyFailure } from '../../errors.ts';
import { withFileFailure } from '../../files/file-errors.ts';
import { readAt, readRange } from '../../files/read-input.ts';
import { LINE_FEED } from '../../json/json-bytes.ts';
import { shellWord } from '../../output/shell-quote.ts';
import { pluralize } from '../../output/transfer-text.ts';
import type { BatchOptions } from '../batch-options.ts';
import { type BatchInput, createInput, type LineSplitter } from './batch-input.ts';
import {
  blockBytesOf,
  countLineFeeds,
  describeBlocks,
  type IndexRow,
  type InputIndex,
  openIndex,
} from './input-index.ts';
import type { Shard } from './shard.ts';

/** The part of a file that a shard sends, as its journal records it: the lines that begin at byte `first` or later, and before `last`. */
export type PartRecord = {
  /** Of the file when the shard was started, in bytes. */
  readonly size: number;
  readonly first: number;
  readonly last: number;
  /** The number of the first line in the whole file. */
  readonly line: number;
  /** Empty lines included. */
  readonly lines: number;
  /** Of the blocks that have a byte of the part. */
  readonly digest: string;
};

/** True for a part that svc recorded. */
export function isPartRecord(part: PartRecord): boolean {
  const { size, first, last, line, lines, digest, ...others } = Object(part);
  const numbers = [size, first, last, line, lines];
  const isOrdered = 0 <= first && first <= last && last <= size && line >= 1 && lines >= 0;
  const isWhole = numbers.every(Number.isSafeInteger) && Object.keys(others).length === 0;
  return isOrdered && isWhole && /^[0-9a-f]{64}$/.test(digest);
}

export interface InputPart {
  readonly record: PartRecord;
  /** Of a file that grew since it was indexed; for a run that starts. */
  readonly warning: string | undefined;
  /** Its lines. Throws Failure `safety_check` at a block that changed, before a line of it; if deferred, `requireUnchanged` does. */
  readonly openInput: (isDeferred: boolean) => BatchInput;
  /** Throws Failure `safety_check` for a part that is no longer the one of the journal, as far as it was read. */
  readonly requireUnchanged: () => void;
}

/**
 * The part of a shard: the one that its journal records, if there is one. Throws Failure `safety_check` for an index that is not of
 * the file, and for a file that is shorter than before.
 */
export async function openPart(
  label: string,
  { path, split }: { readonly path: string; readonly split: LineSplitter },
  { shard, canAcceptChanges }: Pick<BatchOptions, 'shard' | 'canAcceptChanges'>,
  prior: PartRecord | undefined,
): Promise<InputPart> {
  // The index of an input before its changes is of no use.
  const index = prior && canAcceptChanges ? undefined : await openIndex(path, label);
  const file = await withFileFailure('read', label, () => open(path));
  try {
    const { size: fileSize } = await file.stat();
    const size = prior?.size ?? index?.size ?? fileSize;
    if (fileSize < size) throw shorterFileFailure(label, fileSize, size, prior !== undefined);
    const blocks = createBlockReader(file, size);
    const [first, last] = prior ? [prior.first, prior.last] : await findBounds(blocks, size, shard);
    const usedIndex = index?.size === size ? index : undefined;
    const rows = await readRows(file, { first, last, size }, usedIndex);
    const lineAt = createLineCounter(blocks, rows, Math.floor(first / blocks.blockBytes));
    const line = await lineAt(first);
    const lines = (await lineAt(last)) - line;
    let isChanged = false;
    const onMismatch =
      (isDeferred: boolean): OnMismatch =>
      (row, next) => {
        isChanged = true;
        if (!isDeferred) throw changedBlockFailure(label, row, next, usedIndex !== undefined);
      };
    const digests = await digestBlocks(blocks, rows, first, last, onMismatch(prior !== undefined));
    const digest = hash('sha256', digests.join(''), 'hex');
    const record = prior ? { ...prior, digest } : { size, first, last, line, lines, digest };
    isChanged ||= prior !== undefined && prior.digest !== digest;
    const isLast = shard.index === shard.count;
    const isMoved =
      line !== record.line || (prior !== undefined && (await isCutAtBounds(file, prior, isLast, fileSize)));
    const isAfterFeed = first === 0 || (await readAt(file, first - 1, 1))[0] === LINE_FEED;
    const layout = { ...record, rows, digests, isLast, isAfterFeed };
    const openInput = (isDeferred: boolean): BatchInput => {
      const splitPart: LineSplitter = (chunks) => split(chunks, { number: record.line, offset: first });
      const openStream = async (): Promise<Readable> =>
        Readable.from(readPart(path, layout, blocks.kept, onMismatch(isDeferred)), { highWaterMark: 1 });
      return createInput(label, (isLast ? fileSize : last) - first, openStream, splitPart, { start: first });
    };
    return {
      record,
      warning: prior || fileSize === size ? undefined : grownFileWarning(label, fileSize - size, shard),
      openInput,
      requireUnchanged: () => {
        if (isMoved) throw changedPartFailure(label, record, 'lines before it or at its bounds', 'restore the input');
        const hint = 'restore the input, or send the changed lines with --accept-changes';
        if (isChanged && !canAcceptChanges) throw changedPartFailure(label, record, 'bytes of it', hint);
      },
    };
  } finally {
    await index?.close();
    await file.close();
  }
}

/** Called with the row of a block that changed, and of the next one. */
type OnMismatch = (row: IndexRow, next: IndexRow) => void;

type BlockReader = ReturnType<typeof createBlockReader>;

const MAX_KEPT_BLOCKS = 4;

// The blocks at the bounds are looked at several times, and read once.
function createBlockReader(file: FileHandle, size: number) {
  const blockBytes = blockBytesOf(size);
  const kept = new Map<number, Buffer>();
  const read = async (block: number): Promise<Buffer> => {
    const start = block * blockBytes;
    const bytes = kept.get(block) ?? (await readAt(file, start, Math.min(blockBytes, size - start)));
    const [oldest = block] = kept.keys();
    if (kept.size >= MAX_KEPT_BLOCKS) kept.delete(oldest);
    kept.set(block, bytes);
    return bytes;
  };
  return { blockBytes, kept, read };
}

// Each bound is the start of a line, or the end of the file.
async function findBounds(
  { blockBytes, read }: BlockReader,
  size: number,
  { index, count }: Shard,
): Promise<readonly [first: number, last: number]> {
  const lineStartFrom = async (position: number): Promise<number> => {
    if (position === 0) return 0;
    for (let block = Math.floor((position - 1) / blockBytes); block * blockBytes < size; block += 1) {
      const at = (await read(block)).indexOf(LINE_FEED, Math.max(0, position - 1 - block * blockBytes));
      if (at !== -1) return block * blockBytes + at + 1;
    }
    return size;
  };
  const boundAfter = async (shards: number): Promise<number> =>
    shards === count ? size : lineStartFrom(Math.floor((size * shards) / count));
  return [await boundAfter(index - 1), await boundAfter(index)];
}

const COUNT_CHUNK_BYTES = 1024 * 1024;

// Without an index, the lines before the part are counted.
async function readRows(
  file: FileHandle,
  { first, last, size }: Pick<PartRecord, 'first' | 'last' | 'size'>,
  index: InputIndex | undefined,
): Promise<readonly IndexRow[]> {
  const blockBytes = blockBytesOf(size);
  const [from, to] = [Math.floor(first / blockBytes), Math.ceil(last / blockBytes)];
  if (index) return index.readRows(from, to);
  let line = 1;
  for await (const chunk of readRange(file, 0, from * blockBytes, COUNT_CHUNK_BYTES)) line += countLineFeeds(chunk);
  return describeBlocks(file, size, line, from, to);
}

// Counts from the row of the block that has the position: the number of the first line that begins there or later.
function createLineCounter({ blockBytes, read }: BlockReader, rows: readonly IndexRow[], firstBlock: number) {
  return async (position: number): Promise<number> => {
    if (position === 0) return 1;
    const block = Math.floor(position / blockBytes);
    const rest = position - block * blockBytes;
    const feeds = rest === 0 ? 0 : countLineFeeds((await read(block)).subarray(0, rest));
    const before = position - 1;
    const isAfterFeed = (await read(Math.floor(before / blockBytes)))[before % blockBytes] === LINE_FEED;
    return (rows[block - firstBlock]?.line ?? 1) + feeds + (isAfterFeed ? 0 : 1);
  };
}

// Of the bytes of each block that belong to the part: what is beside them, another shard sends.
async function digestBlocks(
  { blockBytes, read }: BlockReader,
  rows: readonly IndexRow[],
  first: number,
  last: number,
  onMismatch: OnMismatch,
): Promise<readonly string[]> {
  const digests = rows.slice(0, -1).map(({ digest }) => digest);
  for (const at of new Set([0, digests.length - 1])) {
    const [row, next] = [rows[at], rows[at + 1]];
    if (!row || !next) continue;
    const block = Math.floor(first / blockBytes) + at;
    const bytes = await read(block);
    if (hash('sha256', bytes, 'hex') !== row.digest || row.line + countLineFeeds(bytes) !== next.line)
      onMismatch(row, next);
    digests[at] = hash('sha256', clipBlock(bytes, block * blockBytes, first, last), 'hex');
  }
  return digests;
}

function clipBlock(bytes: Buffer, start: number, first: number, last: number): Buffer {
  return bytes.subarray(Math.max(0, first - start), Math.max(0, last - start));
}

// True for bounds that are no longer starts of lines, and for a last line without a line feed that became longer.
async function isCutAtBounds(
  file: FileHandle,
  { first, last, size, lines }: PartRecord,
  isLast: boolean,
  fileSize: number,
): Promise<boolean> {
  const isFeedAt = async (position: number): Promise<boolean> => (await readAt(file, position, 1))[0] === LINE_FEED;
  if (first > 0 && first < size && !(await isFeedAt(first - 1))) return true;
  if (lines === 0 || isLast || (await isFeedAt(last - 1))) return false;
  return last < size || (fileSize > size && !(await isFeedAt(size)));
}

interface PartLayout extends PartRecord {
  readonly rows: readonly IndexRow[];
  readonly digests: readonly string[];
  readonly isLast: boolean;
  /** False for a part that began at the end of a line without a line feed. */
  readonly isAfterFeed: boolean;
}

const CHUNK_BYTES = 64 * 1024;

// In copies, because a line in flight keeps its chunk.
async function* readPart(
  path: string,
  { first, last, size, rows, digests, isLast, isAfterFeed }: PartLayout,
  kept: Map<number, Buffer>,
  onMismatch: OnMismatch,
): AsyncGenerator<Buffer, undefined> {
  const blockBytes = blockBytesOf(size);
  const firstBlock = Math.floor(first / blockBytes);
  const buffer = Buffer.allocUnsafe(blockBytes);
  const file = await open(path);
  try {
    for (const [at, row] of rows.entries()) {
      const next = rows[at + 1];
      if (!next) break;
      const block = firstBlock + at;
      const start = block * blockBytes;
      const whole = kept.get(block) ?? (await readAt(file, start, Math.min(blockBytes, size - start), buffer));
      kept.delete(block);
      const bytes = clipBlock(whole, start, first, last);
      if (hash('sha256', bytes, 'hex') !== digests[at]) onMismatch(row, next);
      for (let from = 0; from < bytes.length; from += CHUNK_BYTES)
        yield Buffer.from(bytes.subarray(from, from + CHUNK_BYTES));
    }
    if (!isLast) return undefined;
    let isInLine = !isAfterFeed;
    for await (const chunk of readRange(file, last, Number.POSITIVE_INFINITY, CHUNK_BYTES)) {
      const from = isInLine ? chunk.indexOf(LINE_FEED) + 1 : 0;
      if (isInLine && from === 0) continue;
      isInLine = false;
      yield Buffer.from(chunk.subarray(from));
    }
    return undefined;
  } finally {
    await file.close();
  }
}

function shorterFileFailure(label: string, fileSize: number, size: number, isResumed: boolean): Failure {
  const [message, hint] = isResumed
    ? [`${label} has ${fileSize} bytes, and had ${size} when this shard was started`, 'restore the input']
    : [`${label}.index is of ${size} bytes, and ${label} has ${fileSize}`, `run: svc batch index ${shellWord(label)}`];
  return safetyFailure('changed_input', message, { hint });
}

function grownFileWarning(label: string, bytes: number, { count }: Shard): string {
  const command = `svc batch index ${shellWord(label)}`;
  return `${label} grew by ${bytes} ${pluralize(bytes, 'byte')} since it was indexed, which shard ${count}/${count} sends; before any shard starts, run: ${command}`;
}

function changedBlockFailure(label: string, row: IndexRow, next: IndexRow, hasIndex: boolean): Failure {
  const what = next.line === row.line ? `line ${row.line}` : `lines ${row.line} to ${next.line}`;
  const message = hasIndex
    ? `${label} and ${label}.index differ in ${what}`
    : `${label} changed in ${what} while svc read it`;
  const hint = hasIndex
    ? `restore the input, or run: svc batch index ${shellWord(label)}`
    : 'restore the input, then continue with --resume';
  return safetyFailure('changed_input', message, { hint });
}

function changedPartFailure(label: string, { line, lines }: PartRecord, what: string, hint: string): Failure {
  const place = lines === 0 ? `before line ${line}` : `${lines} ${pluralize(lines, 'line')} from line ${line} on`;
  const message = `${label} is not the input that this shard was started with (${place}): ${what} changed`;
  return safetyFailure('changed_input', message, { hint });
}
