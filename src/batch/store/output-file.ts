import { Buffer } from 'node:buffer';
import { createReadStream, statSync } from 'node:fs';
import { type FileHandle, open, readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Failure, safetyFailure, usageFailure } from '../../errors.ts';
import { fileFailure, isNotFoundError, pathExists, withFileFailure } from '../../files/file-errors.ts';
import { commitOrAbandon, openReplacement } from '../../files/file-replacement.ts';
import { openAppender } from '../../files/journal.ts';
import { splitLines } from '../../files/split-lines.ts';
import { getMember } from '../../json/json-node.ts';
import { tryParseJson } from '../../json/parse-json.ts';
import type { IndexedResult, LineTable } from './line-table.ts';
import { type Checkpoint, parseResultLine, type ResultEntry } from './result-line.ts';

export interface OutputPath {
  readonly path: string;
  readonly displayPath: string;
}

type OutputState = Awaited<ReturnType<typeof readOutput>>;

/** The largest result line: a response has up to 32 MiB, and as a JSON string text is longer. */
export const MAX_RESULT_BYTES = 256 * 1024 * 1024;

/**
 * Reads the results of an output, which may not exist, into a table, as file `fileIndex`; what follows `validBytes` is to be cut.
 * Of several results of a line, in any order, one for the input that the journal recorded last counts, then the highest revision,
 * then a success, then the failure that was most likely applied. Throws Failure `local_file` for a file that is not an output,
 * and `safety_check` for one of an earlier version.
 */
export async function readOutput({ path, displayPath }: OutputPath, fileIndex: number, table: LineTable) {
  const checkpoints = new Map<string, Checkpoint>();
  // Lines whose input differs from that of a result in an earlier file; the results of that file stay in the table.
  const otherInputLines = new Set<number>();
  let validBytes = 0;
  let exists = true;
  let isUnterminated = false;
  let isSorted = true;
  let previousLine = 0;
  try {
    for await (const line of splitLines(createReadStream(path), MAX_RESULT_BYTES)) {
      const { number, offset, bytes, length, isTorn } = line;
      const entry = bytes && parseResultLine(bytes);
      if (isTorn && !entry && isCutResult(bytes)) break;
      if (bytes?.length === 0) {
        isSorted = false;
        continue;
      }
      if (!bytes || !entry)
        throw new Failure('local_file', `${displayPath}:${number} is not a result of a batch`, {
          hint: otherFileHint(displayPath, number, bytes),
        });
      const { checkpoint } = entry;
      if (!checkpoint) throw earlierVersionFailure(`${displayPath}:${number}`, 'the result has no checkpoint');
      const { run, operation, shard, input: digest } = checkpoint;
      checkpoints.set(`${run} ${operation} ${shard}`, checkpoint);
      const earlier = table.result(entry.line);
      const isOtherInput = earlier && earlier.fileIndex !== fileIndex && earlier.digest !== digest;
      // A resumed run with --accept-changes may have a later result for the same input.
      if (isOtherInput) otherInputLines.add(entry.line);
      else otherInputLines.delete(entry.line);
      isSorted &&= entry.line > previousLine;
      previousLine = entry.line;
      validBytes = offset + length;
      isUnterminated = isTorn;
      if (!isOtherInput && replacesEarlier(entry, digest, table))
        table.setResult(entry.line, { fileIndex, offset, length: bytes.length, ...entry, digest });
    }
  } catch (error) {
    if (!isNotFoundError(error)) throw fileFailure('read', displayPath, error);
    exists = false;
  }
  return { exists, validBytes, isUnterminated, isSorted, checkpoints: [...checkpoints.values()], otherInputLines };
}

function otherFileHint(path: string, line: number, bytes: Uint8Array | undefined): string {
  const journal = /^(.+)\.journal$/.exec(path)?.[1];
  if (journal !== undefined) return `use the output beside it, ${journal}`;
  const root = bytes && tryParseJson(bytes);
  if (root && (getMember(root, 'messages') ?? getMember(root, 'custom_id')))
    return 'it is an input; use the file that --batch wrote with -o';
  return `use the output file of --batch${line > 1 ? ', or remove that line' : ''}`;
}

function replacesEarlier(entry: ResultEntry, input: string, table: LineTable): boolean {
  const earlier = table.result(entry.line);
  if (!earlier) return true;
  if (earlier.digest !== input) return earlier.digest !== table.recordedDigest(entry.line);
  return rankOf(entry) >= rankOf(earlier);
}

// A line that may have been applied stays so, whatever a later attempt did; only a revision takes a success back.
function rankOf({ revision, exitCode, applied }: Pick<ResultEntry, 'revision' | 'exitCode' | 'applied'>): number {
  return revision * 8 + (exitCode === 0 ? 4 : 0) + { no: 0, unknown: 1, yes: 2 }[applied];
}

// Only what svc wrote is cut off; after a power failure a file may end in zeros.
function isCutResult(bytes: Buffer | undefined): boolean {
  const start = bytes?.toString('latin1', 0, RESULT_PREFIX.length) ?? '';
  const isStart = RESULT_PREFIX.startsWith(start) || start.startsWith('\0');
  // A result that was cut has nothing after its end: another byte is a line feed that was changed.
  return isStart && !(bytes && parseResultLine(bytes.subarray(0, -1)));
}

const RESULT_PREFIX = '{"line":';

/** The failure of a file that an earlier version of svc wrote; it is never read as empty. */
export function earlierVersionFailure(place: string, reason: string): Failure {
  return safetyFailure('other_batch', `${place} was written by an earlier version of svc: ${reason}`, {
    hint: 'finish that batch with the version that began it, or start again with another file for -o',
  });
}

/**
 * The outputs that have a journal in a directory, also those that do not exist yet; another path is an output itself. A file
 * without a journal may be a merged copy of the others, which would count twice.
 */
export async function findOutputs(displayPath: string, cwd: string): Promise<string[]> {
  const found = await stat(resolve(cwd, displayPath)).catch(() => undefined);
  if (!found?.isDirectory()) return [displayPath];
  const names = await withFileFailure('read', displayPath, () => readdir(resolve(cwd, displayPath)));
  const outputs = names.flatMap((name) => (name.endsWith('.journal') ? [join(displayPath, name.slice(0, -8))] : []));
  if (outputs.length > 0) return outputs.sort((one, other) => one.localeCompare(other, 'en', { numeric: true }));
  throw new Failure('local_file', `no file in ${displayPath} has a journal of a batch beside it`, {
    hint: `name the outputs themselves, such as ${join(displayPath, '*.jsonl')}`,
  });
}

/** Outputs to read, each once even if it is named twice. Throws usage for stdin, and Failure `local_file` for a pipe: they are read twice. */
export async function resolveOutputs(displayPaths: readonly string[], cwd: string): Promise<OutputPath[]> {
  const outputs = new Map<string, OutputPath>();
  const found = await Promise.all(displayPaths.map((displayPath) => findOutputs(displayPath, cwd)));
  for (const displayPath of found.flat()) {
    if (displayPath === '-')
      throw usageFailure('stdin cannot be the output of a batch', 'save that output to a file, and name the file');
    const path = resolve(cwd, displayPath);
    const isBegun = displayPaths.includes(displayPath) || (await pathExists(path));
    if (!isBegun) continue;
    const file = await withFileFailure('read', displayPath, () => stat(path));
    if (!file.isFile())
      throw new Failure('local_file', `cannot read ${displayPath}: it is not a regular file`, {
        hint: 'save the output of the batch to a file first',
      });
    const id = `${file.dev}:${file.ino}`;
    if (!outputs.has(id)) outputs.set(id, { path, displayPath });
  }
  return [...outputs.values()];
}

export type OutputFile = Awaited<ReturnType<typeof openOutput>>;

/**
 * Opens or creates (0600) an output to append results after its first `validBytes` bytes, unless `beforeWrite` throws. Every
 * function throws Failure `local_file`.
 */
export async function openOutput(
  { path, displayPath }: OutputPath,
  { validBytes, isUnterminated }: Pick<OutputState, 'validBytes' | 'isUnterminated'>,
  beforeWrite: () => void,
) {
  const write = <T>(action: () => Promise<T>): Promise<T> => withFileFailure('write', displayPath, action);
  const handle = await write(() => open(path, 'a+', 0o600));
  const appendBytes = await write(() => openAppender(handle, path, validBytes, beforeWrite));
  const append = (bytes: Uint8Array): Promise<void> => write(() => appendBytes(bytes));
  const opened = await write(() => handle.stat());
  if (isUnterminated) await append(NEWLINE);
  return {
    append,
    read: (place: IndexedResult): Promise<Buffer> => readResult(handle, place, displayPath),
    finish: () => write(() => handle.datasync().finally(() => handle.close())),
    /** False if the path names another file by now, or none. */
    isAtPath: (): boolean => {
      try {
        const { ino, dev } = statSync(path);
        return ino === opened.ino && dev === opened.dev;
      } catch {
        return false;
      }
    },
  };
}

/** Throws Failure `local_file` for a file that cannot be read or became shorter. */
export async function readResult(
  handle: FileHandle,
  { offset, length }: Pick<IndexedResult, 'offset' | 'length'>,
  displayPath: string,
): Promise<Buffer> {
  return withFileFailure('read', displayPath, async () => {
    const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(length), 0, length, offset);
    if (bytesRead === length) return buffer;
    throw new Failure('local_file', `${displayPath} changed while svc read it`, { hint: 'run the command again' });
  });
}

/** Rewrites an output, completely or not at all: one result per line, in order. `table` has the records of its journal. */
export async function sortOutput(
  output: OutputPath,
  table: LineTable,
  removedLines: ReadonlySet<number>,
  beforeCommit: () => void,
): Promise<void> {
  if ((await readOutput(output, 0, table)).isSorted && removedLines.size === 0) return;
  for (const line of removedLines) table.setResult(line, undefined);
  const file = await openReplacement(output.path, output.displayPath);
  await commitOrAbandon(file, () => writeResultsInOrder(table, [output], file.write).then(beforeCommit));
}

const NEWLINE = Buffer.from('\n');
const WRITE_CHUNK_BYTES = 256 * 1024;

/** Writes the results of a table in the order of their lines, byte for byte. */
export async function writeResultsInOrder(
  table: LineTable,
  outputs: readonly OutputPath[],
  write: (results: Uint8Array) => Promise<void>,
): Promise<void> {
  const handles = new Map<OutputPath, FileHandle>();
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  const flush = async (): Promise<void> => {
    await write(Buffer.concat(pending));
    pending = [];
    pendingBytes = 0;
  };
  try {
    for (const line of table.lines()) {
      const found = table.result(line);
      const output = found && outputs[found.fileIndex];
      if (!output) continue;
      const { path, displayPath } = output;
      const handle = handles.get(output) ?? (await withFileFailure('read', displayPath, () => open(path, 'r')));
      handles.set(output, handle);
      const bytes = await readResult(handle, found, displayPath);
      pending.push(bytes, NEWLINE);
      pendingBytes += bytes.length + 1;
      if (pendingBytes > WRITE_CHUNK_BYTES) await flush();
    }
    await flush();
  } finally {
    for (const handle of handles.values()) await handle.close();
  }
}
