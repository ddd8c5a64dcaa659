import { yieldToEventLoop } from '../event-loop.ts';
import { isDatabaseBusy, type Store } from './open-store.ts';

/**
 * Does something in a transaction that others share, all of it or nothing; durable when it resolves. What fails undoes
 * nothing of the others. It may be done twice, the first time undone, and is not done once the signal is aborted: then
 * it throws the signal's reason.
 */
export type GroupCommit = <T>(action: () => T, signal: AbortSignal | undefined) => Promise<T>;

interface PendingCommit {
  /** Does it, and gives what tells of it when it is durable. */
  readonly execute: () => () => void;
  readonly reject: (error: unknown) => void;
}

// So that an endless stream of requests does not keep those that have come waiting.
const MAX_COMMITS_PER_GROUP = 1000;

/**
 * Commits what is asked for at about the same time together. While the disk is written nothing else runs, so all that
 * came meanwhile is there at once, and shares the next commit: the more are waiting, the more share one.
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

// Those who come together are not all judged in the same turn of the event loop: the first one that brings nobody ends it.
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
    // Whoever is to blame is found when each has a transaction of its own; a busy database is busy for all.
    if (group.length > 1 && !isDatabaseBusy(error)) for (const pending of group) commitTogether([pending], store);
    else for (const { reject } of group) reject(error);
  }
}
