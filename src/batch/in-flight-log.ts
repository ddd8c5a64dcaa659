import { Buffer } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Failure } from '../errors.ts';
import { coalesceWrites } from '../files/coalesced-writes.ts';
import { describeFileError, isNotFoundError } from '../files/file-errors.ts';
import { syncDirectory } from '../files/rename-durably.ts';
import { JsonError } from '../json/json-error.ts';
import { firstStringMember, getMember, isTrue, type JsonNode, kindOf, rawText, rootOf } from '../json/json-node.ts';
import { parseJson } from '../json/parse-json.ts';
import { writeJson } from '../json/write-json.ts';
import { createFailureWrapper, writeAllSync } from './checkpoint-file.ts';
import { splitLines } from './split-lines.ts';

/** What was said about a run before its lines were sent. */
export interface InFlightState {
  /** The id of the run, a UUID. */
  readonly run: string;
  /** The path of the operation. */
  readonly operation: string;
  /** Lines that may have left, and the time their bodies say, in milliseconds since 1970. */
  readonly lines: ReadonlyMap<number, number>;
  /** Bytes of the file that are whole records. */
  readonly validBytes: number;
}

/** The file that says which lines may have left. All of it throws Failure `local`. */
export interface InFlightLog {
  /** Says that a line is about to leave with this time; durable when it returns. */
  readonly markInFlight: (line: number, timestampMs: number) => Promise<void>;
  /** Takes that back: it did not leave. */
  readonly clearInFlight: (line: number) => Promise<void>;
  /** The batch is complete: the file goes. */
  readonly removeFile: () => Promise<void>;
  /** Keeps the file for the next time. */
  readonly close: () => Promise<void>;
}

/** Opens the intents of a run, of which `length` bytes stay; a file that is not there is made, and begins with what run it is. */
export async function openInFlightLog(
  path: string,
  displayPath: string,
  { run, operation, validBytes }: Omit<InFlightState, 'lines'>,
): Promise<InFlightLog> {
  const wrapFailures = createFailureWrapper(displayPath);
  const handle = await wrapFailures(() => open(path, 'a'));
  await wrapFailures(() => handle.truncate(validBytes));
  const append = coalesceWrites((records) =>
    wrapFailures(async () => {
      writeAllSync(handle.fd, records);
      await handle.datasync();
    }),
  );
  const appendRecord = (record: string): Promise<void> => append(Buffer.from(`${record}\n`));
  if (validBytes === 0) {
    await appendRecord(writeJson({ run, operation }));
    await wrapFailures(() => syncDirectory(dirname(path)));
  }
  return {
    markInFlight: (line, at) => appendRecord(`{"line":${line},"at":${at}}`),
    clearInFlight: (line) => appendRecord(`{"line":${line},"withdrawn":true}`),
    removeFile: () =>
      wrapFailures(async () => {
        await handle.close();
        await rm(path, { force: true });
      }),
    close: () => wrapFailures(() => handle.close()),
  };
}

/**
 * What the intents of an earlier time say about the lines that are of interest; undefined where there are none. Throws
 * Failure `local` where they cannot be read.
 */
export async function readInFlightLog(
  path: string,
  displayPath: string,
  isRelevant: (line: number) => boolean,
): Promise<InFlightState | undefined> {
  const lines = new Map<number, number>();
  let header: Pick<InFlightState, 'run' | 'operation'> | undefined;
  let validBytes = 0;
  try {
    for await (const { number, bytes, length: lineBytes, isTorn } of splitLines(
      createReadStream(path),
      MAX_RECORD_BYTES,
    )) {
      // What was torn when the process died had not become durable: nothing had left.
      if (isTorn) break;
      const record = bytes && rootOf(parseJson(bytes));
      if (number === 1) header = parseHeader(record);
      if (!header) throw invalidLogFailure(displayPath);
      validBytes += lineBytes;
      const line = numberMember(record, 'line');
      if (line === undefined || !isRelevant(line)) continue;
      if (isTrue(getMember(record, 'withdrawn'))) lines.delete(line);
      else lines.set(line, numberMember(record, 'at') ?? 0);
    }
  } catch (error) {
    if (isNotFoundError(error)) return undefined;
    if (error instanceof JsonError) throw invalidLogFailure(displayPath);
    if (error instanceof Failure) throw error;
    throw new Failure('local', `cannot read ${displayPath}: ${describeFileError(error)}`);
  }
  return header && { ...header, lines, validBytes };
}

// Of one of our records.
const MAX_RECORD_BYTES = 1024;

function parseHeader(record: JsonNode | undefined): Pick<InFlightState, 'run' | 'operation'> | undefined {
  const [run, operation] = [firstStringMember(record, 'run'), firstStringMember(record, 'operation')];
  return run === undefined || operation === undefined ? undefined : { run, operation };
}

function invalidLogFailure(displayPath: string): Failure {
  return new Failure('local', `${displayPath} is not what a batch has written`, { hint: 'give another file with -o' });
}

function numberMember(record: JsonNode | undefined, name: string): number | undefined {
  const value = getMember(record, name);
  return value && kindOf(value) === 'number' ? Number(rawText(value)) : undefined;
}
