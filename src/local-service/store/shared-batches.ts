import type { ExchangeSignal } from '../../http/message.ts';
import { StoreError } from './store-error.ts';

/** The rules for combining writes into batches. */
export interface BatchRules<Item, Result> {
  /** Writes a batch completely or not at all; the results are in the order of the items. */
  readonly write: (items: readonly Item[]) => Promise<readonly Result[]>;
  readonly sizeOf: (item: Item) => number;
  /** Waits before each batch for items that are about to come; `length` is how many there are. */
  readonly gather?: (length: () => number) => Promise<void>;
}

interface PendingItem<Item, Result> {
  readonly item: Item;
  readonly signal: ExchangeSignal | undefined;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** An endless stream of items must not delay those that have already arrived. */
export const MAX_BATCH_ITEMS = 1000;
const MAX_BATCH_CHARS = 8 * 1024 * 1024;

/**
 * Combines writes: while a batch is being written, further writes wait and share the next one. An item whose write fails
 * fails alone. An item whose signal is aborted before its batch begins is not written.
 */
export function createSharedBatches<Item, Result>({
  write,
  sizeOf,
  gather,
}: BatchRules<Item, Result>): (item: Item, signal: ExchangeSignal | undefined) => Promise<Result> {
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
