import { usageFailure } from '../errors.ts';

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
