import type { Applied } from '../errors.ts';

/** What stands about a line in one of some journals. */
export interface Found {
  /** Which of the journals, counted from 0. */
  readonly file: number;
  readonly offset: number;
  readonly length: number;
  readonly exitCode: number;
  readonly applied: Applied;
}

/** What is known of lines by their number, in a few bytes a line: files have millions of them. */
export interface Table {
  readonly get: (line: number) => Found | undefined;
  readonly set: (line: number, found: Found) => void;
  /** The lines about which something is known, in ascending order. */
  readonly lines: () => Generator<number>;
  /** The largest of them; 0 where there is none. */
  readonly last: () => number;
}

const verdicts: readonly Applied[] = ['no', 'yes', 'unknown'];

/** A table of nothing. */
export function emptyTable(): Table {
  let places = new Float64Array(0);
  let lengths = new Uint32Array(0);
  let codes = new Uint16Array(0);
  let files = new Uint16Array(0);
  let last = 0;
  const grow = (line: number): void => {
    const room = Math.max(1024, lengths.length * 2, line + 1);
    places = grown(places, new Float64Array(room));
    lengths = grown(lengths, new Uint32Array(room));
    codes = grown(codes, new Uint16Array(room));
    files = grown(files, new Uint16Array(room));
  };
  // No entry is empty, so a length of 0 says that there is none.
  const get = (line: number): Found | undefined => {
    const length = lengths[line] ?? 0;
    const code = codes[line] ?? 0;
    const applied = verdicts[code >> 8];
    if (length === 0 || applied === undefined) return undefined;
    return { file: files[line] ?? 0, offset: places[line] ?? 0, length, exitCode: code & 0xff, applied };
  };
  return {
    get,
    set: (line, { file, offset, length, exitCode, applied }) => {
      if (line >= lengths.length) grow(line);
      places[line] = offset;
      lengths[line] = length;
      codes[line] = (verdicts.indexOf(applied) << 8) | (exitCode & 0xff);
      files[line] = file;
      last = Math.max(last, line);
    },
    lines: function* () {
      for (let line = 1; line <= last; line += 1) if (lengths[line]) yield line;
    },
    last: () => last,
  };
}

function grown<T extends Float64Array | Uint32Array | Uint16Array>(before: T, larger: T): T {
  larger.set(before);
  return larger;
}
