import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';

/** A UUIDv7 (RFC 9562) in lower case: 48 bits of milliseconds since 1970, then 74 of `random`, which has 10 bytes. */
export function uuid7(milliseconds: number, random: Uint8Array): string {
  const bytes = Buffer.alloc(16);
  bytes.writeUIntBE(milliseconds, 0, 6);
  bytes.set(random.subarray(0, 10), 6);
  return written(bytes, 7);
}

/** A UUIDv5 (RFC 9562) in lower case: the same for the same name in the same namespace, which is a UUID itself. */
export function uuid5(namespace: string, name: string): string {
  const space = Buffer.from(namespace.replaceAll('-', ''), 'hex');
  return written(createHash('sha1').update(space).update(name).digest().subarray(0, 16), 5);
}

function written(bytes: Buffer, version: number): string {
  bytes[6] = (version << 4) | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
