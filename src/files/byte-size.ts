const units = ['KiB', 'MiB', 'GiB', 'TiB'] as const;

/** A count of bytes for people: `812 B`, `3.4 MiB`, `64 KiB`. Rounded up, so that a size above a limit never looks like the limit. */
export function formatByteSize(bytes: number): string {
  let size = bytes;
  let unit = 'B';
  for (const larger of units) {
    // A size that rounds up to 1024 belongs to the next unit.
    if (size <= 1023.9) break;
    size /= 1024;
    unit = larger;
  }
  return `${Math.ceil(size * 10) / 10} ${unit}`;
}
