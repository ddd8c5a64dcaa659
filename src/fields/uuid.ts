import { Buffer } from 'node:buffer';
import { hash } from 'node:crypto';

/** A UUIDv7 (RFC 9562) in lower case: 48 bits of milliseconds since 1970, then 74 of `random`, which has 10 bytes. */
export function uuidV7(timestampMs: number, random: Uint8Array): string {
  const bytes = Buffer.alloc(16);
  bytes.writeUIntBE(timestampMs, 0, 6);
  bytes.set(random.subarray(0, 10), 6);
  return formatUuid(bytes, 7);
}

/** A UUIDv5 (RFC 9562) in lower case: always the same for the same name and namespace (a UUID). */
export function uuidV5(namespace: string, name: string): string {
  const namespaceBytes = Buffer.from(namespace.replaceAll('-', ''), 'hex');
  return formatUuid(hash('sha1', Buffer.concat([namespaceBytes, Buffer.from(name)]), 'buffer').subarray(0, 16), 5);
}

function formatUuid(bytes: Buffer, version: number): string {
  bytes[6] = (version << 4) | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
