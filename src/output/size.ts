const units = ['KiB', 'MiB', 'GiB', 'TiB'] as const;

/** A count of bytes for people: `812 B`, `3.4 MiB`. */
export function sizeText(bytes: number): string {
  let shown = `${bytes} B`;
  let left = bytes;
  for (const unit of units) {
    // What would be rounded up to 1024.0 belongs to the next unit.
    if (left < 1023.95) break;
    left /= 1024;
    shown = `${left.toFixed(1)} ${unit}`;
  }
  return shown;
}
