import { usageFailure } from '../errors.ts';

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

const BYTES_PER_UNIT: Readonly<Record<string, number>> = { '': 1, K: 1024, M: 1024 ** 2, G: 1024 ** 3 };

/** Parses a size in bytes: `4096`, `64K`, `32M`, `2G`. Throws Failure `usage`, naming `sourceName`, such as a flag. */
export function parseByteSize(sourceName: string, text: string): number {
  const [, digits = '', unit = ''] = /^(\d{1,12})([KMG]?)$/i.exec(text) ?? [];
  const bytes = Number(digits) * (BYTES_PER_UNIT[unit.toUpperCase()] ?? 1);
  if (bytes > 0 && Number.isSafeInteger(bytes)) return bytes;
  throw usageFailure(
    `${sourceName} is not a valid size: ${JSON.stringify(text)}`,
    'write it like 65536, 64K, 32M or 2G',
  );
}
