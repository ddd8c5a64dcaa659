import { yieldToEventLoop } from '../event-loop.ts';
import type { Store } from './open-store.ts';
import { StoreError } from './store-error.ts';

/**
 * Runs an action in a transaction that others share, completely or not at all; it is durable when the promise resolves.
 * A failing action undoes nothing of the others. It may run twice, the first time undone, and does not run once the
 * signal is aborted: then the promise is rejected with the signal's reason.
 */
export type GroupCommit = <T>(action: () => T, signal: AbortSignal | undefined) => Promise<T>;

interface PendingCommit {
  /** Runs the action, and returns the function that resolves its promise once it is durable. */
  readonly execute: () => () => void;
  readonly reject: (error: unknown) => void;
}

// An endless stream of requests must not delay those that have already come.
const MAX_COMMITS_PER_GROUP = 1000;

/**
 * Commits actions that are requested at about the same time together. While the disk is written nothing else runs, so
 * all requests that came meanwhile share the next commit: the more are waiting, the more share one.
 */
export function createGroupCommit(store: Store): GroupCommit {
  let pending: PendingCommit[] = [];
  const flush = async (): Promise<void> => {
    await waitForGroup(pending);
    const group = pending;
    pending = [];
    commitTogether(group, store);
  };
  return (action, signal) =>
    new Promise((resolve, reject) => {
      const execute = (): (() => void) => {
        if (signal?.aborted) return () => reject(signal.reason);
        const value = action();
        return () => resolve(value);
      };
      if (pending.push({ execute, reject }) === 1) flush();
    });
}

// Requests that come together are validated in several turns of the event loop; a turn that adds none ends the wait.
async function waitForGroup(group: readonly PendingCommit[]): Promise<void> {
  for (let previousLength = 0; previousLength < group.length && previousLength < MAX_COMMITS_PER_GROUP; ) {
    previousLength = group.length;
    await yieldToEventLoop(undefined);
  }
}

function commitTogether(group: readonly PendingCommit[], store: Store): void {
  try {
    for (const notify of store.transaction(() => group.map(({ execute }) => execute()))) notify();
  } catch (error) {
    // With a transaction each, only the action that fails is rejected; an unavailable database rejects all of them.
    if (group.length > 1 && !(error instanceof StoreError))
      for (const pending of group) commitTogether([pending], store);
    else for (const { reject } of group) reject(error);
  }
}
