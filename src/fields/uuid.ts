import { Buffer } from 'node:buffer';
import { hash } from 'node:crypto';

/** A UUIDv7 (RFC 9562) in lower case: 48 bits of milliseconds since 1970, then 74 of `random`, which has 10 bytes. */
export function uuidV7(timestampMs: number, random: Uint8Array): string {
  return formatUuid(timestampMs.toString(16).padStart(12, '0') + Buffer.from(random).toString('hex'), 7);
}

/** A UUIDv5 (RFC 9562) in lower case: always the same for the same name and namespace (a UUID). */
export function uuidV5(namespace: string, name: string): string {
  const bytes = Buffer.from(' '.repeat(16) + name);
  bytes.write(namespace.replaceAll('-', ''), 'hex');
  return formatUuid(hash('sha1', bytes, 'hex'), 5);
}

// The first 32 digits, with the version in the 13th and the variant in the first two bits of the 17th.
function formatUuid(hex: string, version: number): string {
  const variant = (0x8 | (Number.parseInt(hex.charAt(16), 16) & 0x3)).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${version}${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
