import { usageFailure } from '../errors.ts';

const units = ['KiB', 'MiB', 'GiB', 'TiB'] as const;

/** A count of bytes for people: `812 B`, `3.4 MiB`, `64 KiB`. Rounded up, so that a size above a limit never looks like the limit. */
export function formatByteSize(bytes: number): string {
  let size = bytes;
  let unit = 'B';
  for (const larger of units) {
    if (size <= 1023.9) break;
    size /= 1024;
    unit = larger;
  }
  return `${Math.ceil(size * 10) / 10} ${unit}`;
}

const BYTES_PER_UNIT: { readonly [unit: string]: number } = { '': 1, K: 1024, M: 1024 ** 2, G: 1024 ** 3 };

/** The bytes of a size such as `65536`, `64K`, `32M` or `2G`, the value of a flag. Throws usage for anything else, and for 0. */
export function parseByteSize(flag: string, text: string): number {
  const bytes = readByteSize(text);
  if (bytes !== undefined) return bytes;
  // `64 MiB` and `64kb`.
  const meant = text.replace(/\s|i?b$/gi, '');
  const hint = readByteSize(meant) ? `write it as ${meant}` : 'write it like 65536, 64K, 32M or 2G';
  throw usageFailure(`${flag} is not a valid size: ${JSON.stringify(text)}`, hint);
}

function readByteSize(text: string): number | undefined {
  const [, digits = '', unit = ''] = /^(\d{1,12})([KMG]?)$/i.exec(text) ?? [];
  const bytes = Number(digits) * (BYTES_PER_UNIT[unit.toUpperCase()] ?? 1);
  return bytes > 0 && Number.isSafeInteger(bytes) ? bytes : undefined;
}
