import type { Buffer } from 'node:buffer';

/** The signature of a key or name that may equal any other: their texts have to be compared. */
export const UNKNOWN_SIGNATURE = 0;

/**
 * The signature of a key without escapes, whose text is between two offsets. Equal keys have equal signatures; most keys of
 * an object have different ones, so that their texts need not be read.
 */
export function keySignature(bytes: Buffer, start: number, end: number): number {
  return packSignature(end - start, bytes[start] ?? 0, bytes[(start + end) >> 1] ?? 0, bytes[end - 1] ?? 0);
}

/** The signature of the keys with this text. */
export function nameSignature(name: string): number {
  const { length } = name;
  // Other characters take more bytes than one.
  for (let at = 0; at < length; at += 1) if (name.charCodeAt(at) >= 0x80) return UNKNOWN_SIGNATURE;
  return length === 0
    ? UNKNOWN_SIGNATURE
    : packSignature(length, name.charCodeAt(0), name.charCodeAt(length >> 1), name.charCodeAt(length - 1));
}

function packSignature(length: number, first: number, middle: number, last: number): number {
  return (length << 24) | (first << 16) | (middle << 8) | last;
}

/** False if two signatures show that the texts differ. */
export function mayBeEqual(left: number, right: number): boolean {
  return left === right || left === UNKNOWN_SIGNATURE || right === UNKNOWN_SIGNATURE;
}
