import { Buffer } from 'node:buffer';
import { usage } from '../errors.ts';
import { grouped } from '../files/grouped.ts';
import { type LockWorld, lock } from '../files/lock.ts';
import { exists } from '../files/reason.ts';
import type { Operation } from '../operations/operation.ts';
import type { Sink } from '../output/sink.ts';
import { readJournal } from './history.ts';
import { type Declared, openIntents, readIntents } from './intents.ts';
import { openJournal } from './journal.ts';
import { emptyTable, type Found } from './table.ts';
import { tidyJournal } from './tidy.ts';

/** Where the results of a batch go, and what is known of earlier times. */
export interface Results {
  /** The id of the run, a UUID; the same when it is gone on with. */
  readonly run: string;
  /** The ids of an earlier time are made again; without its intents they are others. */
  readonly isSameRun: boolean;
  /** They can be gone on with. */
  readonly isJournal: boolean;
  /** What stands about a line already. */
  readonly found: (line: number) => Found | undefined;
  /** The time a line said when it may have left, without an outcome. */
  readonly declared: (line: number) => number | undefined;
  /** Says that a line is about to leave. */
  readonly declare: (line: number, at: number) => Promise<void>;
  readonly withdraw: (line: number) => Promise<void>;
  readonly write: (entry: Uint8Array) => Promise<void>;
  /** Ends it; `isComplete`: no line is left whose outcome is open. */
  readonly end: (isComplete: boolean) => Promise<void>;
}

/** Results that go to a stream: nothing is known of them later. */
export function streamResults(run: string, { writer, commit }: Sink): Results {
  const nothing = async (): Promise<void> => {};
  return {
    run,
    isSameRun: true,
    isJournal: false,
    found: () => undefined,
    declared: () => undefined,
    declare: nothing,
    withdraw: nothing,
    write: grouped((entries) => writer.write(entries)),
    end: commit,
  };
}

/** What is asked of a file of results. */
export interface ResultsOptions {
  readonly operation: Operation;
  /** The id of the run, where it is a new one. */
  readonly newRun: string;
  /** The file may be there, and is gone on with. */
  readonly isResumed: boolean;
}

/**
 * Opens the file of results, which is the journal of the batch, and beside it the file of intents. Throws usage for one
 * that is there already and is not to be gone on with, and Failure `local` where another process uses it.
 */
export async function openResults(
  path: string,
  typed: string,
  { operation, newRun, isResumed }: ResultsOptions,
  world: LockWorld,
): Promise<Results> {
  const unlock = await lock(path, typed, world);
  try {
    if (!isResumed) await refuseExisting(path, typed);
    const table = emptyTable();
    const history = await readJournal(path, typed, 0, table);
    const before = await readIntents(intentsOf(path), intentsOf(typed), (line) => table.get(line)?.exitCode !== 0);
    const declared: Declared = before ?? { run: newRun, operation: operation.path, lines: new Map(), length: 0 };
    if (declared.operation !== operation.path)
      throw usage(`${typed} belongs to a batch of ${declared.operation}`, 'give another file with -o');
    const journal = await openJournal(path, typed, history.length);
    if (history.isUnended) await journal.append(Buffer.from('\n'));
    const intents = await openIntents(intentsOf(path), intentsOf(typed), declared);
    return {
      run: declared.run,
      isSameRun: before !== undefined,
      isJournal: true,
      found: table.get,
      declared: (line) => declared.lines.get(line),
      declare: intents.declare,
      withdraw: intents.withdraw,
      write: journal.append,
      end: async (isComplete) => {
        try {
          await journal.sync();
          await journal.close();
          if (history.length > 0) await tidyJournal({ path, typed });
          await (isComplete ? intents.remove() : intents.close());
        } finally {
          await unlock();
        }
      },
    };
  } catch (error) {
    await unlock();
    throw error;
  }
}

/** Throws usage for a file of results, or of intents, that is there already. */
export async function refuseExisting(path: string, typed: string): Promise<void> {
  for (const of of [String, intentsOf]) {
    if (await exists(of(path)))
      throw usage(`${of(typed)} is there already`, '--resume goes on with it; or give another file with -o');
  }
}

/** The file of intents beside one of results. */
export function intentsOf(path: string): string {
  return `${path}.intents`;
}
