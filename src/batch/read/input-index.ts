import type { Buffer } from 'node:buffer';
import { hash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { Failure, safetyFailure } from '../../errors.ts';
import { undefinedIfNotFound, withFileFailure } from '../../files/file-errors.ts';
import { commitOrAbandon, openReplacement } from '../../files/file-replacement.ts';
import { readAt, readRange } from '../../files/read-input.ts';
import { LINE_FEED } from '../../json/json-bytes.ts';
import { shellWord } from '../../output/shell-quote.ts';
import { rejectHead } from './input-encoding.ts';

/** What an index records of each block of a file, and of its end. */
export interface IndexRow {
  /** The number of the line that its first byte belongs to. */
  readonly line: number;
  /** SHA-256 of the block; at the end, of all digests. */
  readonly digest: string;
}

const MAX_BLOCK_BYTES = 1024 * 1024;
const MIN_BLOCK_BYTES = 4096;
// The rest of two blocks is little beside a part, also in 200 parts of a small file.
const MAX_BLOCKS_OF_SMALL_FILE = 16_384;
const ROW_BYTES = 100;
const LINE_DIGITS = 14;

/** The bytes that share a digest: up to 1 MiB, less for files below 16 GiB. */
export function blockBytesOf(size: number): number {
  let bytes = MIN_BLOCK_BYTES;
  while (bytes < MAX_BLOCK_BYTES && size / bytes > MAX_BLOCKS_OF_SMALL_FILE) bytes *= 2;
  return bytes;
}

export function countLineFeeds(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(LINE_FEED); at !== -1; at = bytes.indexOf(LINE_FEED, at + 1)) count += 1;
  return count;
}

/** The rows of a file from its block `from` to its end, or to a number of blocks. Throws system errors. */
export async function describeBlocks(
  file: FileHandle,
  size: number,
  line: number,
  from = 0,
  to = Math.ceil(size / blockBytesOf(size)),
  onProgress: (bytes: number) => void = () => {},
): Promise<IndexRow[]> {
  const blockBytes = blockBytesOf(size);
  const rows: IndexRow[] = [];
  let lineOfNext = line;
  for await (const bytes of readRange(file, from * blockBytes, Math.min(size, to * blockBytes), blockBytes)) {
    rows.push({ line: lineOfNext, digest: hash('sha256', bytes, 'hex') });
    lineOfNext += countLineFeeds(bytes);
    onProgress(bytes.length);
  }
  const digests = rows.map(({ digest }) => digest).join('');
  return [...rows, { line: lineOfNext, digest: hash('sha256', digests, 'hex') }];
}

/**
 * Writes the index of a file beside it, completely or not at all, and returns what it says. Throws Failure `local_file`, also for a
 * file that changes meanwhile, `safety_check` for another file of that name, and `body` for a file that is not text.
 */
export async function writeIndex(path: string, label: string, onProgress: (bytes: number, size: number) => void) {
  const [indexPath, indexLabel] = [`${path}.index`, `${label}.index`];
  const head = await withFileFailure('read', indexLabel, async () => {
    const existing = await open(indexPath).catch(undefinedIfNotFound);
    if (existing) return readAt(existing, 0, ROW_BYTES).finally(() => existing.close());
  });
  if (head && head.length > 0 && !HEAD_START.startsWith(head.toString('latin1', 0, HEAD_START.length)))
    throw safetyFailure('unsafe_file', `${indexLabel} is not an index of svc, and would be replaced`, {
      hint: 'move it away, or rename it',
    });
  const file = await withFileFailure('read', label, () => open(path));
  try {
    const before = await file.stat();
    const { size } = before;
    rejectHead(await readAt(file, 0, MIN_BLOCK_BYTES), label);
    let done = 0;
    const rows = await withFileFailure('read', label, () =>
      describeBlocks(file, size, 1, 0, undefined, (bytes) => {
        done += bytes;
        onProgress(done, size);
      }),
    );
    const after = await file.stat();
    if (after.size !== size || after.mtimeMs !== before.mtimeMs || rows.length !== countBlocks(size) + 1)
      throw new Failure('local_file', `${label} changed while svc read it`, { hint: 'run the command again' });
    const replacement = await openReplacement(indexPath, indexLabel);
    await commitOrAbandon(replacement, async () => {
      await replacement.write(`${HEAD_START}${size}}`.padEnd(ROW_BYTES - 1).concat('\n'));
      const texts = rows.map(
        ({ line, digest }) => `{"line":${String(line).padStart(LINE_DIGITS)},"sha256":"${digest}"}\n`,
      );
      for (let at = 0; at < rows.length; at += ROWS_PER_WRITE)
        await replacement.write(texts.slice(at, at + ROWS_PER_WRITE).join(''));
    });
    const feeds = (rows.at(-1)?.line ?? 1) - 1;
    const isTorn = size > 0 && (await readAt(file, size - 1, 1))[0] !== LINE_FEED;
    return { index: indexLabel, bytes: size, lines: feeds + (isTorn ? 1 : 0), block_bytes: blockBytesOf(size) };
  } finally {
    await file.close();
  }
}

const HEAD_START = '{"svc_index":1,"size":';
const ROWS_PER_WRITE = 10_000;

function countBlocks(size: number): number {
  return Math.ceil(size / blockBytesOf(size));
}

export type InputIndex = NonNullable<Awaited<ReturnType<typeof openIndex>>>;

/** The index of a file, if it has one; close it. Throws Failure `safety_check` for one that is damaged, or was not written to its end. */
export async function openIndex(path: string, label: string) {
  const indexLabel = `${label}.index`;
  const fail = (): never => {
    throw safetyFailure('unsafe_file', `${indexLabel} is not a complete index of svc`, {
      hint: `run: svc batch index ${shellWord(label)}; or delete it, and lines are counted instead`,
    });
  };
  return withFileFailure('read', indexLabel, async () => {
    const file = await open(`${path}.index`).catch(undefinedIfNotFound);
    if (!file) return undefined;
    try {
      const head = (await readAt(file, 0, ROW_BYTES)).toString('latin1');
      const [, digits] = /^\{"svc_index":1,"size":(\d{1,15})\} *\n$/.exec(head) ?? [];
      const size = Number(digits);
      const { size: indexBytes } = await file.stat();
      if (digits === undefined || indexBytes !== (countBlocks(size) + 2) * ROW_BYTES) return fail();
      return {
        /** Of the file when the index was written. */
        size,
        /** The rows of the blocks from one number to another, and of the next one or the end. */
        readRows: async (from: number, to: number): Promise<IndexRow[]> => {
          const text = (await readAt(file, (from + 1) * ROW_BYTES, (to - from + 1) * ROW_BYTES)).toString('latin1');
          return Array.from({ length: to - from + 1 }, (_, at) => {
            const row = /^\{"line": *(\d{1,14}),"sha256":"([0-9a-f]{64})"\}\n$/.exec(
              text.slice(at * ROW_BYTES, (at + 1) * ROW_BYTES),
            );
            return row?.[1] === undefined || row[2] === undefined ? fail() : { line: Number(row[1]), digest: row[2] };
          });
        },
        close: () => file.close(),
      };
    } catch (error) {
      await file.close();
      throw error;
    }
  });
}
