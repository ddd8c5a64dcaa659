import { Buffer } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Failure } from '../errors.ts';
import { syncFolder } from '../files/durable.ts';
import { grouped } from '../files/grouped.ts';
import { fileReason, isMissing } from '../files/reason.ts';
import { parseJson } from '../json/document.ts';
import { JsonError } from '../json/json-error.ts';
import { isTrue, type JsonNode, kindOf, member, rootOf, stringIn, textOf } from '../json/node.ts';
import { writeJson } from '../json/write.ts';
import { guardedBy, writeWholly } from './journal.ts';
import { linesOf } from './line.ts';

/** What was said about a run before its lines were sent. */
export interface Declared {
  /** The id of the run, a UUID. */
  readonly run: string;
  /** The path of the operation. */
  readonly operation: string;
  /** Lines that may have left, and the time their bodies say, in milliseconds since 1970. */
  readonly lines: ReadonlyMap<number, number>;
  /** Bytes of the file that are whole records. */
  readonly length: number;
}

/** The file that says which lines may have left. All of it throws Failure `local`. */
export interface Intents {
  /** Says that a line is about to leave with this time; durable when it returns. */
  readonly declare: (line: number, at: number) => Promise<void>;
  /** Takes that back: it did not leave. */
  readonly withdraw: (line: number) => Promise<void>;
  /** The batch is complete: the file goes. */
  readonly remove: () => Promise<void>;
  /** Keeps the file for the next time. */
  readonly close: () => Promise<void>;
}

/** Opens the intents of a run, of which `length` bytes stay; a file that is not there is made, and begins with what run it is. */
export async function openIntents(
  path: string,
  typed: string,
  { run, operation, length }: Omit<Declared, 'lines'>,
): Promise<Intents> {
  const guarded = guardedBy(typed);
  const handle = await guarded(() => open(path, 'a'));
  await guarded(() => handle.truncate(length));
  const append = grouped((records) =>
    guarded(async () => {
      writeWholly(handle.fd, records);
      await handle.datasync();
    }),
  );
  const say = (record: string): Promise<void> => append(Buffer.from(`${record}\n`));
  if (length === 0) {
    await say(writeJson({ run, operation }));
    await guarded(() => syncFolder(dirname(path)));
  }
  return {
    declare: (line, at) => say(`{"line":${line},"at":${at}}`),
    withdraw: (line) => say(`{"line":${line},"withdrawn":true}`),
    remove: () =>
      guarded(async () => {
        await handle.close();
        await rm(path, { force: true });
      }),
    close: () => guarded(() => handle.close()),
  };
}

/**
 * What the intents of an earlier time say about the lines that are of interest; undefined where there are none. Throws
 * Failure `local` where they cannot be read.
 */
export async function readIntents(
  path: string,
  typed: string,
  isOfInterest: (line: number) => boolean,
): Promise<Declared | undefined> {
  const lines = new Map<number, number>();
  let head: Pick<Declared, 'run' | 'operation'> | undefined;
  let length = 0;
  try {
    for await (const { number, bytes, length: size, isTorn } of linesOf(createReadStream(path), LONGEST)) {
      // What was torn when the process died had not become durable: nothing had left.
      if (isTorn) break;
      const record = bytes && rootOf(parseJson(bytes));
      if (number === 1) head = headIn(record);
      if (!head) throw notIntents(typed);
      length += size;
      const line = numberIn(record, 'line');
      if (line === undefined || !isOfInterest(line)) continue;
      if (isTrue(member(record, 'withdrawn'))) lines.delete(line);
      else lines.set(line, numberIn(record, 'at') ?? 0);
    }
  } catch (error) {
    if (isMissing(error)) return undefined;
    if (error instanceof JsonError) throw notIntents(typed);
    if (error instanceof Failure) throw error;
    throw new Failure('local', `cannot read ${typed}: ${fileReason(error)}`);
  }
  return head && { ...head, lines, length };
}

// Of one of our records.
const LONGEST = 1024;

function headIn(record: JsonNode | undefined): Pick<Declared, 'run' | 'operation'> | undefined {
  const [run, operation] = [stringIn(record, 'run'), stringIn(record, 'operation')];
  return run === undefined || operation === undefined ? undefined : { run, operation };
}

function notIntents(typed: string): Failure {
  return new Failure('local', `${typed} is not what a batch has written`, { hint: 'give another file with -o' });
}

function numberIn(record: JsonNode | undefined, name: string): number | undefined {
  const value = member(record, name);
  return value && kindOf(value) === 'number' ? Number(textOf(value)) : undefined;
}
