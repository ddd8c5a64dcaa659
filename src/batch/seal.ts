import { Buffer } from 'node:buffer';
import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { CARRIAGE_RETURN } from '../json/json-bytes.ts';

/** The end of a result line: the input line it belongs to, the run that wrote it, and its check. */
export interface EntrySeal {
  /** Digest of the input line, 16 hex digits. */
  readonly digest: string;
  /** The `run` and `settings` members as written. */
  readonly stamp: string;
  /** CRC-32 of the bytes before the check. */
  readonly expectedCheck: number;
  readonly check: number;
}

/** The digest of the bytes of an input line, in 16 hex digits; a carriage return at the end does not count. */
export function digestLine(bytes: Uint8Array): string {
  const end = bytes.at(-1) === CARRIAGE_RETURN ? -1 : bytes.length;
  return hash('sha256', bytes.subarray(0, end), 'hex').slice(0, 16);
}

/** A short digest of a value; the salt keeps equal values of two runs from looking equal. */
export function digestValue(salt: string, value: string): string {
  return hash('sha256', `${salt} ${value}`, 'hex').slice(0, 8);
}

/** Ends a result line with its checkpoint members; `entry` ends with `}` and a line feed. */
export function sealEntry(entry: Uint8Array, digest: string, stamp: string): Buffer {
  const head = entry.subarray(0, -2);
  const members = Buffer.from(`,"checkpoint":{"input":"${digest}",${stamp}`);
  return Buffer.concat([head, members, Buffer.from(`${CHECK_PREFIX}${formatCheck(crc32(members, crc32(head)))}"}}\n`)]);
}

/** The seal of a result line without its line feed; undefined for a line of svc 0.1, which has none. */
export function readSeal(line: Buffer): EntrySeal | undefined {
  const from = Math.max(0, line.length - MAX_SEAL_BYTES);
  const [, digest, stamp, check] = ENTRY_SEAL.exec(line.toString('latin1', from)) ?? [];
  if (digest === undefined || stamp === undefined || check === undefined) return undefined;
  const sealedBytes = line.length - CHECK_PREFIX.length - CHECK_BYTES;
  return { digest, stamp, expectedCheck: crc32(line.subarray(0, sealedBytes)), check: Number.parseInt(check, 16) };
}

/** True for the end of a result line that was sealed, even if the line was changed since. */
export function isSealedLine(line: Buffer): boolean {
  return line.toString('latin1', Math.max(0, line.length - MAX_SEAL_BYTES)).includes('"checkpoint":');
}

/**
 * The check that marks the last result line of a completed run: it counts the lines of the file, so that a line removed
 * later is noticed.
 */
export function completionCheck(plainCheck: number, lineCount: number): number {
  return crc32(`complete ${lineCount}`, plainCheck);
}

/** Formats a check as 8 hex digits. */
export function formatCheck(check: number): string {
  return check.toString(16).padStart(8, '0');
}

/** Bytes between the first digit of the check of a result line and the end of the line, without its line feed. */
export const CHECK_OFFSET_FROM_END = 8 + 3;

/** Ends a record of the `.inflight` file with a check; `record` is a JSON object. */
export function sealRecord(record: string): string {
  const open = record.slice(0, -1);
  return `${open}${CHECK_PREFIX}${formatCheck(crc32(open))}"}`;
}

/** True if a record matches its check; undefined for one without a check, as svc 0.1 wrote them. */
export function isRecordIntact(record: Buffer): boolean | undefined {
  const text = record.toString('latin1');
  const [, open = '', check] = RECORD_SEAL.exec(text) ?? [];
  return check === undefined ? undefined : formatCheck(crc32(Buffer.from(open, 'latin1'))) === check;
}

const CHECK_PREFIX = ',"check":"';
const CHECK_BYTES = 8 + '"}}'.length;
const MAX_SEAL_BYTES = 400;
const ENTRY_SEAL =
  /,"checkpoint":\{"input":"([0-9a-f]{16})",("run":"[0-9a-f-]{36}","settings":"[^"\\]*"),"check":"([0-9a-f]{8})"\}\}$/;
const RECORD_SEAL = /^(.*),"check":"([0-9a-f]{8})"\}$/s;
