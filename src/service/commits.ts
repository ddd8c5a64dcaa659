import { isBusy, type Store } from './store.ts';
import { otherTurns } from './turns.ts';

/**
 * Does something in a transaction that others share, all of it or nothing; durable when it resolves. What fails undoes
 * nothing of the others. It may be done twice, the first time undone, and is not done once the signal is aborted: then
 * it throws the signal's reason.
 */
export type Commit = <T>(action: () => T, signal: AbortSignal | undefined) => Promise<T>;

interface Share {
  /** Does it, and gives what tells of it when it is durable. */
  readonly run: () => () => void;
  readonly fail: (error: unknown) => void;
}

// So that an endless stream of requests does not keep those that have come waiting.
const MOST = 1000;

/**
 * Commits what is asked for at about the same time together. While the disk is written nothing else runs, so all that
 * came meanwhile is there at once, and shares the next commit: the more are waiting, the more share one.
 */
export function sharedCommits(store: Store): Commit {
  let waiting: Share[] = [];
  const flush = async (): Promise<void> => {
    await gathered(waiting);
    const group = waiting;
    waiting = [];
    settle(group, store);
  };
  return (action, signal) =>
    new Promise((resolve, reject) => {
      const run = (): (() => void) => {
        if (signal?.aborted) return () => reject(signal.reason);
        const value = action();
        return () => resolve(value);
      };
      if (waiting.push({ run, fail: reject }) === 1) flush();
    });
}

// Those who come together are not all judged in the same turn of the event loop: the first one that brings nobody ends it.
async function gathered(group: readonly Share[]): Promise<void> {
  for (let known = 0; known < group.length && known < MOST; ) {
    known = group.length;
    await otherTurns(undefined);
  }
}

function settle(group: readonly Share[], store: Store): void {
  try {
    for (const tell of store.transaction(() => group.map(({ run }) => run()))) tell();
  } catch (error) {
    // Whoever is to blame is found when each has a transaction of its own; a busy database is busy for all.
    if (group.length > 1 && !isBusy(error)) for (const share of group) settle([share], store);
    else for (const { fail } of group) fail(error);
  }
}
