import { Buffer } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Failure } from '../errors.ts';
import { coalesceWrites } from '../files/coalesced-writes.ts';
import { fileFailure, isNotFoundError } from '../files/file-errors.ts';
import { syncDirectory } from '../files/rename-durably.ts';
import { JsonError } from '../json/json-error.ts';
import {
  firstStringMember,
  getMember,
  isTrue,
  type JsonNode,
  kindOf,
  membersOf,
  numberMember,
  rootOf,
  stringOf,
} from '../json/json-node.ts';
import { parseJson } from '../json/parse-json.ts';
import { writeJson } from '../json/write-json.ts';
import type { BatchIdentity } from './batch-identity.ts';
import { createFailureWrapper, writeAllSync } from './checkpoint-file.ts';
import { isRecordIntact, sealRecord } from './seal.ts';
import { splitLines } from './split-lines.ts';

/** A request that may have been sent, without a result so far. */
export interface InFlightLine {
  /** The time its body says, in milliseconds since 1970. */
  readonly timestampMs: number;
  /** Digest of the input line; undefined in a file of svc 0.1. */
  readonly digest: string | undefined;
}

/** The facts about a run in its `.inflight` file, apart from its lines. */
export interface InFlightState {
  /** The id of the run, a UUID. */
  readonly runId: string;
  /** The path of the operation. */
  readonly operation: string;
  /** The batch as recorded; undefined in a file of svc 0.1. */
  readonly identity: BatchIdentity | undefined;
  readonly lines: ReadonlyMap<number, InFlightLine>;
  /** Earlier records or results were lost: lines without a result may have been sent. */
  readonly hasLostRecords: boolean;
  /** The number of lines that must have a successful result, unless results were removed. */
  readonly successCount: number;
  /** The run was completed without results. */
  readonly isCompleted: boolean;
  /** Bytes of complete records. */
  readonly validBytes: number;
}

/** The write-ahead log of requests. Every function throws Failure `local`. */
export interface InFlightLog {
  /** Records that a line is about to be sent; durable when it returns. */
  readonly markInFlight: (line: number, inFlight: InFlightLine) => Promise<void>;
  /** Withdraws the record: the line was not sent. */
  readonly clearInFlight: (line: number) => Promise<void>;
  /** Removes the file of a completed run. */
  readonly removeFile: () => Promise<void>;
  /** Keeps the file of a completed run without results: an empty output alone looks like one whose results were removed. */
  readonly closeCompleted: () => Promise<void>;
  /** Keeps the file for `--resume`. */
  readonly close: () => Promise<void>;
}

/**
 * Opens the log of a run, whose first `validBytes` bytes stay, and records what the run is, and the number of successful
 * results that it begins with: an earlier log may have been removed with the records of their lines.
 */
export async function openInFlightLog(
  path: string,
  displayPath: string,
  {
    runId,
    identity,
    lines,
    hasLostRecords,
    successCount,
    validBytes,
  }: Omit<InFlightState, 'isCompleted'> & { readonly identity: BatchIdentity },
): Promise<InFlightLog> {
  const wrapFailures = createFailureWrapper(displayPath);
  const handle = await wrapFailures(() => open(path, 'a', 0o600));
  await wrapFailures(() => handle.truncate(validBytes));
  let durableBytes = validBytes;
  const append = coalesceWrites((records) =>
    wrapFailures(async () => {
      try {
        writeAllSync(handle.fd, records);
        await handle.datasync();
        durableBytes += records.length;
      } catch (error) {
        // Lines of records that are not durable are not sent, and nothing can follow a part of a record.
        await handle.truncate(durableBytes).catch(() => {});
        throw error;
      }
    }),
  );
  const appendRecords = (records: readonly string[]): Promise<void> =>
    append(Buffer.from(records.map((record) => `${sealRecord(record)}\n`).join('')));
  const { operation, shard, baseUrl, values } = identity;
  const earlier = { done: successCount || undefined, lost_records: hasLostRecords || undefined };
  const header = writeJson({ run: runId, operation, shard, origin: baseUrl, values, ...earlier });
  // A log that is taken over from svc 0.1 begins with its lines.
  const earlierLines = validBytes === 0 ? Array.from(lines, ([line, inFlight]) => formatMark(line, inFlight)) : [];
  await appendRecords([header, ...earlierLines]);
  if (validBytes === 0) await wrapFailures(() => syncDirectory(dirname(path)));
  return {
    markInFlight: (line, inFlight) => appendRecords([formatMark(line, inFlight)]),
    clearInFlight: (line) => appendRecords([`{"line":${line},"withdrawn":true}`]),
    removeFile: () =>
      wrapFailures(async () => {
        await handle.close();
        await rm(path, { force: true });
      }),
    closeCompleted: async () => {
      await appendRecords(['{"completed":true}']);
      await wrapFailures(() => handle.close());
    },
    close: () => wrapFailures(() => handle.close()),
  };
}

function formatMark(line: number, { timestampMs, digest = '' }: InFlightLine): string {
  return `{"line":${line},"at":${timestampMs},"input":"${digest}"}`;
}

/**
 * Reads the log of an earlier run; undefined if there is none. `isSettled` is true for a line whose result is in the
 * checkpoint already. Throws Failure `local` for a file that is not such a log, and `guard` for a damaged one.
 */
export async function readInFlightLog(
  path: string,
  displayPath: string,
  isSettled: (line: number, digest: string | undefined) => boolean,
): Promise<InFlightState | undefined> {
  const lines = new Map<number, InFlightLine>();
  let header: LogHeader | undefined;
  let isCompleted = false;
  let successCount = 0;
  let validBytes = 0;
  try {
    for await (const { number, bytes, length: lineBytes, isTorn } of splitLines(
      createReadStream(path),
      MAX_RECORD_BYTES,
    )) {
      // A record that was torn when the process died was not durable: its line was not sent.
      // No torn record has a byte after its end: the line feed of this one was changed.
      if (isTorn && bytes && isRecordIntact(bytes.subarray(0, -1))) throw damagedLogFailure(displayPath, number);
      if (isTorn) break;
      if (bytes && isRecordIntact(bytes) === false) throw damagedLogFailure(displayPath, number);
      const record = bytes && rootOf(parseJson(bytes));
      const newHeader = parseHeader(record);
      successCount = newHeader?.successCount ?? successCount;
      header = newHeader ?? header;
      if (!bytes || !header) throw invalidLogFailure(displayPath);
      if (header.identity && isRecordIntact(bytes) !== true) throw damagedLogFailure(displayPath, number);
      validBytes += lineBytes;
      isCompleted = isTrue(getMember(record, 'completed'));
      if (isCompleted) lines.clear();
      const line = numberMember(record, 'line');
      const digest = firstStringMember(record, 'input') || undefined;
      if (line === undefined) continue;
      const isWithdrawn = isTrue(getMember(record, 'withdrawn'));
      const isSuccess = !isWithdrawn && isSettled(line, digest);
      // A run records a line once. It records a line that had a successful result before only if its input changed, and then the
      // header does not count that result.
      if (isSuccess) successCount += 1;
      if (isWithdrawn || isSuccess) lines.delete(line);
      else lines.set(line, { timestampMs: numberMember(record, 'at') ?? 0, digest });
    }
  } catch (error) {
    if (isNotFoundError(error)) return undefined;
    if (error instanceof JsonError) throw invalidLogFailure(displayPath);
    if (error instanceof Failure) throw error;
    throw fileFailure(`read ${displayPath}`, error);
  }
  const hasLostRecords = header?.hasLostRecords === true && !isCompleted;
  return header && { ...header, hasLostRecords, successCount, lines, isCompleted, validBytes };
}

// A header names every flag of the batch.
const MAX_RECORD_BYTES = 64 * 1024;

type LogHeader = Pick<InFlightState, 'runId' | 'operation' | 'identity' | 'hasLostRecords' | 'successCount'>;

function parseHeader(record: JsonNode | undefined): LogHeader | undefined {
  const [runId, operation, shard, baseUrl] = ['run', 'operation', 'shard', 'origin'].map((name) =>
    firstStringMember(record, name),
  );
  if (runId === undefined || operation === undefined) return undefined;
  const facts = {
    runId,
    operation,
    hasLostRecords: isTrue(getMember(record, 'lost_records')),
    successCount: numberMember(record, 'done') ?? 0,
  };
  if (shard === undefined || baseUrl === undefined) return { ...facts, identity: undefined };
  const values = getMember(record, 'values');
  const digests = values && kindOf(values) === 'object' ? Array.from(membersOf(values)) : [];
  return {
    ...facts,
    identity: {
      operation,
      shard,
      baseUrl,
      values: Object.fromEntries(digests.map(({ key, value }) => [key, stringOf(value)])),
    },
  };
}

function invalidLogFailure(displayPath: string): Failure {
  return new Failure('local', `${displayPath} was not written by a batch`, { hint: 'choose another file with -o' });
}

function damagedLogFailure(displayPath: string, line: number): Failure {
  return new Failure('guard', `${displayPath}:${line} is damaged: its checksum does not match`, {
    hint: 'restore the file from a copy, or start again with another file for -o',
    applied: 'no',
  });
}
