import type { AppliedState } from '../errors.ts';

/** What stands about a line in one of some journals. */
export interface IndexedEntry {
  /** Which of the journals, counted from 0. */
  readonly fileIndex: number;
  readonly offset: number;
  readonly length: number;
  readonly exitCode: number;
  readonly applied: AppliedState;
}

/** What is known of lines by their number, in a few bytes a line: files have millions of them. */
export interface LineIndex {
  readonly get: (line: number) => IndexedEntry | undefined;
  readonly set: (line: number, found: IndexedEntry) => void;
  /** The lines about which something is known, in ascending order. */
  readonly lines: () => Generator<number>;
  /** The largest of them; 0 where there is none. */
  readonly lastLine: () => number;
}

const appliedValues: readonly AppliedState[] = ['no', 'yes', 'unknown'];

/** A table of nothing. */
export function createLineIndex(): LineIndex {
  let offsets = new Float64Array(0);
  let lengths = new Uint32Array(0);
  let statusCodes = new Uint16Array(0);
  let fileIndexes = new Uint16Array(0);
  let highestLine = 0;
  const grow = (line: number): void => {
    const capacity = Math.max(1024, lengths.length * 2, line + 1);
    offsets = copyInto(offsets, new Float64Array(capacity));
    lengths = copyInto(lengths, new Uint32Array(capacity));
    statusCodes = copyInto(statusCodes, new Uint16Array(capacity));
    fileIndexes = copyInto(fileIndexes, new Uint16Array(capacity));
  };
  // No entry is empty, so a length of 0 says that there is none.
  const get = (line: number): IndexedEntry | undefined => {
    const length = lengths[line] ?? 0;
    const code = statusCodes[line] ?? 0;
    const applied = appliedValues[code >> 8];
    if (length === 0 || applied === undefined) return undefined;
    return { fileIndex: fileIndexes[line] ?? 0, offset: offsets[line] ?? 0, length, exitCode: code & 0xff, applied };
  };
  return {
    get,
    set: (line, { fileIndex, offset, length, exitCode, applied }) => {
      if (line >= lengths.length) grow(line);
      offsets[line] = offset;
      lengths[line] = length;
      statusCodes[line] = (appliedValues.indexOf(applied) << 8) | (exitCode & 0xff);
      fileIndexes[line] = fileIndex;
      highestLine = Math.max(highestLine, line);
    },
    lines: function* () {
      for (let line = 1; line <= highestLine; line += 1) if (lengths[line]) yield line;
    },
    lastLine: () => highestLine,
  };
}

function copyInto<T extends Float64Array | Uint32Array | Uint16Array>(smaller: T, larger: T): T {
  larger.set(smaller);
  return larger;
}
