const units = ['KiB', 'MiB', 'GiB', 'TiB'] as const;

/** A count of bytes for people: `812 B`, `3.4 MiB`. */
export function formatBinaryBytes(bytes: number): string {
  let text = `${bytes} B`;
  let size = bytes;
  for (const unit of units) {
    // A size that rounds up to 1024.0 belongs to the next unit.
    if (size < 1023.95) break;
    size /= 1024;
    text = `${size.toFixed(1)} ${unit}`;
  }
  return text;
}
