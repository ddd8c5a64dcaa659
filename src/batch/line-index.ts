import type { AppliedState } from '../errors.ts';
import { appliedStates } from './parse-result-entry.ts';

/** The location of the result of a line, and its outcome. */
export interface IndexedEntry {
  /** Index of the checkpoint file, from 0. */
  readonly fileIndex: number;
  readonly offset: number;
  readonly length: number;
  readonly exitCode: number;
  readonly applied: AppliedState;
  /** Digest of the input line, 16 hex digits; undefined for results of svc 0.1. */
  readonly digest: string | undefined;
}

/** Results by line number, in 24 bytes per line: files have millions of them. */
export interface LineIndex {
  readonly get: (line: number) => IndexedEntry | undefined;
  readonly set: (line: number, found: IndexedEntry) => void;
  /** Removes a line. */
  readonly remove: (line: number) => void;
  /** The lines with a result, in ascending order. */
  readonly lines: () => Generator<number>;
  /** The number of lines with a result. */
  readonly size: () => number;
  /** The largest line number; 0 without results. */
  readonly lastLine: () => number;
}

/** An empty index. */
export function createLineIndex(): LineIndex {
  let offsets = new Float64Array(0);
  let lengths = new Uint32Array(0);
  let statusCodes = new Uint16Array(0);
  let fileIndexes = new Uint16Array(0);
  let digests = new BigUint64Array(0);
  let highestLine = 0;
  let lineCount = 0;
  const grow = (line: number): void => {
    const capacity = Math.max(1024, lengths.length * 2, line + 1);
    offsets = copyInto(offsets, new Float64Array(capacity));
    lengths = copyInto(lengths, new Uint32Array(capacity));
    statusCodes = copyInto(statusCodes, new Uint16Array(capacity));
    fileIndexes = copyInto(fileIndexes, new Uint16Array(capacity));
    digests = copyInto(digests, new BigUint64Array(capacity));
  };
  // No result is empty, so a length of 0 marks a line without one.
  const get = (line: number): IndexedEntry | undefined => {
    const length = lengths[line] ?? 0;
    const code = statusCodes[line] ?? 0;
    const applied = appliedStates[code >> 8];
    if (length === 0 || applied === undefined) return undefined;
    return {
      fileIndex: fileIndexes[line] ?? 0,
      offset: offsets[line] ?? 0,
      length,
      exitCode: code & 0xff,
      applied,
      digest: formatDigest(digests[line]),
    };
  };
  return {
    get,
    set: (line, { fileIndex, offset, length, exitCode, applied, digest }) => {
      if (line >= lengths.length) grow(line);
      if (lengths[line] === 0) lineCount += 1;
      offsets[line] = offset;
      lengths[line] = length;
      statusCodes[line] = (appliedStates.indexOf(applied) << 8) | (exitCode & 0xff);
      fileIndexes[line] = fileIndex;
      digests[line] = digest === undefined ? 0n : BigInt(`0x${digest}`);
      highestLine = Math.max(highestLine, line);
    },
    remove: (line) => {
      if (!lengths[line]) return;
      lengths[line] = 0;
      lineCount -= 1;
    },
    size: () => lineCount,
    lines: function* () {
      for (let line = 1; line <= highestLine; line += 1) if (lengths[line]) yield line;
    },
    lastLine: () => highestLine,
  };
}

function formatDigest(digest: bigint | undefined): string | undefined {
  return digest ? digest.toString(16).padStart(16, '0') : undefined;
}

function copyInto<T extends { set: (values: T) => void }>(smaller: T, larger: T): T {
  larger.set(smaller);
  return larger;
}
