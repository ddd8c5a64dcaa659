import type { ExchangeSignal } from '../../http/message.ts';
import { yieldToEventLoop } from '../event-loop.ts';
import type { Store } from './open-store.ts';
import { createSharedBatches, MAX_BATCH_ITEMS } from './shared-batches.ts';

/**
 * Runs an action in a transaction that others share, completely or not at all; it is durable when the promise resolves.
 * A failing action undoes nothing of the others. It may run twice, the first time undone, and does not run once the
 * signal is aborted: then the promise is rejected with the signal's reason.
 */
export type GroupCommit = <T>(action: () => T, signal: ExchangeSignal | undefined) => Promise<T>;

/**
 * Commits actions that are requested at about the same time together. While the disk is written nothing else runs, so
 * all requests that arrive meanwhile share the next commit.
 */
export function createGroupCommit(store: Store): GroupCommit {
  const commit = createSharedBatches<() => void, true>({
    gather: waitForGroup,
    write: async (actions) =>
      store.transaction(() =>
        actions.map((run) => {
          run();
          return true;
        }),
      ),
    sizeOf: () => 0,
  });
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
