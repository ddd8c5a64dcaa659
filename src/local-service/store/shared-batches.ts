import type { ExchangeSignal } from '../../http/message.ts';
import { yieldToEventLoop } from '../event-loop.ts';
import type { Store } from './open-store.ts';
import { StoreError } from './service-store.ts';

// Runs an action in a transaction that others share, completely or not at all; it is durable when the promise resolves. A
// failing action undoes nothing of the others. It may run twice, the first time undone, and does not run once the signal is
// aborted: then the promise is rejected with the signal's reason.
type GroupCommit = <T>(action: () => T, signal: ExchangeSignal | undefined) => Promise<T>;

/** Commits actions together that are requested at about the same time: those that arrive during a commit share the next one. */
export function createGroupCommit(store: Store): GroupCommit {
  const runAll = (actions: readonly (() => void)[]): true[] =>
    actions.map((run) => {
      run();
      return true;
    });
  const write = async (actions: readonly (() => void)[]): Promise<true[]> => store.transaction(() => runAll(actions));
  const commit = createSharedBatches<() => void, true>(write, undefined, waitForGroup);
  return async <T>(action: () => T, signal: ExchangeSignal | undefined): Promise<T> => {
    let result: { readonly value: T } | undefined;
    await commit(() => {
      result = { value: action() };
    }, signal);
    if (!result) throw new Error('the action did not run');
    return result.value;
  };
}

// Requests that come together are validated in several turns of the event loop; a turn that adds none ends the wait.
async function waitForGroup(length: () => number): Promise<void> {
  for (let previous = 0; previous < length() && previous < MAX_BATCH_ITEMS; ) {
    previous = length();
    await yieldToEventLoop(undefined);
  }
}

interface PendingItem<Item, Result> {
  readonly item: Item;
  readonly signal: ExchangeSignal | undefined;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** An endless stream of items must not delay those that have already arrived. */
const MAX_BATCH_ITEMS = 1000;
const MAX_BATCH_CHARS = 8 * 1024 * 1024;

/**
 * Combines writes: while a batch is being written, further writes wait and share the next one. An item whose write fails
 * fails alone. An item whose signal is aborted before its batch begins is not written. `write` stores a batch completely or not
 * at all, with results in the order of its items; `gather` waits before each batch for items that are about to come.
 */
export function createSharedBatches<Item, Result>(
  write: (items: readonly Item[]) => Promise<readonly Result[]>,
  sizeOf: (item: Item) => number = () => 0,
  gather?: (length: () => number) => Promise<void>,
): (item: Item, signal: ExchangeSignal | undefined) => Promise<Result> {
  const pending: PendingItem<Item, Result>[] = [];
  let isWriting = false;
  const takeBatch = (): PendingItem<Item, Result>[] => {
    let chars = 0;
    let count = 0;
    while (count < Math.min(pending.length, MAX_BATCH_ITEMS) && (count === 0 || chars < MAX_BATCH_CHARS)) {
      const next = pending[count];
      if (next) chars += sizeOf(next.item);
      count += 1;
    }
    return pending.splice(0, count).filter(({ signal, reject }) => {
      if (signal?.aborted) reject(signal.reason);
      return !signal?.aborted;
    });
  };
  const writeBatch = async (batch: readonly PendingItem<Item, Result>[]): Promise<void> => {
    try {
      const results = await write(batch.map(({ item }) => item));
      for (const [at, { resolve, reject }] of batch.entries()) {
        const result = results[at];
        if (result === undefined) reject(new Error('the batch returned too few results'));
        else resolve(result);
      }
    } catch (error) {
      const isShared = error instanceof StoreError && error.reason !== 'unsupported';
      if (batch.length === 1 || isShared) for (const { reject } of batch) reject(error);
      else for (const one of batch) await writeBatch([one]);
    }
  };
  const writeAll = async (): Promise<void> => {
    isWriting = true;
    while (pending.length > 0) {
      await gather?.(() => pending.length);
      const batch = takeBatch();
      if (batch.length > 0) await writeBatch(batch);
    }
    isWriting = false;
  };
  return (item, signal) =>
    new Promise((resolve, reject) => {
      pending.push({ item, signal, resolve, reject });
      if (!isWriting) writeAll();
    });
}
