import type { ExchangeSignal } from '../../http/message.ts';
import { yieldToEventLoop } from '../event-loop.ts';
import { StoreError } from './service-store.ts';

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
 * Combines writes: those that arrive while a batch is being written share the next one. `write` stores a batch completely or not
 * at all; an item whose write fails fails alone, and one whose signal is aborted before is not written. `isGathering` waits
 * before each batch for items that are about to come.
 */
export function createSharedBatches<Item, Result>(
  write: (items: readonly Item[]) => Promise<readonly Result[]>,
  sizeOf: (item: Item) => number,
  isGathering = false,
): (item: Item, signal?: ExchangeSignal) => Promise<Result> {
  const pending: PendingItem<Item, Result>[] = [];
  let isWriting = false;
  const takeBatch = (): PendingItem<Item, Result>[] => {
    let [chars, count] = [0, 0];
    for (const { item } of pending.slice(0, MAX_BATCH_ITEMS)) {
      if (chars >= MAX_BATCH_CHARS) break;
      chars += sizeOf(item);
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
      for (const [at, result] of results.entries()) batch[at]?.resolve(result);
    } catch (error) {
      const isShared = error instanceof StoreError && error.reason !== 'unsupported';
      if (batch.length === 1 || isShared) for (const { reject } of batch) reject(error);
      else for (const one of batch) await writeBatch([one]);
    }
  };
  const writeAll = async (): Promise<void> => {
    isWriting = true;
    while (pending.length > 0) {
      // Requests that come together are validated in several turns of the event loop; a turn that adds none ends the wait.
      for (let count = 0; isGathering && count < pending.length && count < MAX_BATCH_ITEMS; ) {
        count = pending.length;
        await yieldToEventLoop(undefined);
      }
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
