import type { ExchangeSignal } from '../../http/message.ts';
import { yieldToEventLoop } from '../event-loop.ts';
import type { Store } from './open-store.ts';
import { StoreError } from './service-store.ts';

/**
 * Runs a write in a transaction that others share, completely or not at all; it is durable when the promise resolves. A
 * write that fails undoes nothing of the others. It may run twice, the first time undone, and does not run once the signal
 * is aborted: then the promise is rejected with the signal's reason.
 */
export type SharedCommit<Client> = <T>(
  write: (client: Client) => T | Promise<T>,
  signal: ExchangeSignal | undefined,
) => Promise<T>;

interface PendingWrite<Client> {
  readonly run: (client: Client) => unknown;
  readonly signal: ExchangeSignal | undefined;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

// An endless stream of writes must not delay those that have already arrived.
const MAX_BATCH_WRITES = 1000;

/** Commits writes to an embedded database together that are requested at about the same time. */
export function createGroupCommit(store: Store): SharedCommit<void> {
  return createSharedCommit<void>(
    async (writes) => store.transaction(() => writes.forEach((write) => void write())),
    waitForGroup,
  );
}

// Requests that come together are validated in several turns of the event loop; a turn that adds none ends the wait.
async function waitForGroup(length: () => number): Promise<void> {
  for (let previous = 0; previous < length() && previous < MAX_BATCH_WRITES; ) {
    previous = length();
    await yieldToEventLoop(undefined);
  }
}

/**
 * Combines writes: those that arrive during a commit share the next one. `runAll` runs some in one transaction; `gather`
 * waits before each batch for writes that are about to come.
 */
export function createSharedCommit<Client>(
  runAll: (writes: readonly ((client: Client) => unknown)[]) => Promise<void>,
  gather?: (length: () => number) => Promise<void>,
): SharedCommit<Client> {
  const pending: PendingWrite<Client>[] = [];
  let isWriting = false;
  const commitBatch = async (batch: readonly PendingWrite<Client>[]): Promise<void> => {
    try {
      await runAll(batch.map(({ run }) => run));
      for (const { resolve } of batch) resolve();
    } catch (error) {
      const isShared = error instanceof StoreError && error.reason !== 'unsupported';
      if (batch.length === 1 || isShared) for (const { reject } of batch) reject(error);
      else for (const one of batch) await commitBatch([one]);
    }
  };
  const commitAll = async (): Promise<void> => {
    isWriting = true;
    while (pending.length > 0) {
      await gather?.(() => pending.length);
      const batch = pending.splice(0, MAX_BATCH_WRITES).filter(({ signal, reject }) => {
        if (signal?.aborted) reject(signal.reason);
        return !signal?.aborted;
      });
      if (batch.length > 0) await commitBatch(batch);
    }
    isWriting = false;
  };
  return async <T>(write: (client: Client) => T | Promise<T>, signal: ExchangeSignal | undefined): Promise<T> => {
    let result: { readonly value: T | Promise<T> } | undefined;
    const run = (client: Client): T | Promise<T> => {
      result = { value: write(client) };
      return result.value;
    };
    await new Promise<void>((resolve, reject) => {
      pending.push({ run, signal, resolve, reject });
      if (!isWriting) commitAll();
    });
    if (!result) throw new Error('the write did not run');
    return result.value;
  };
}
