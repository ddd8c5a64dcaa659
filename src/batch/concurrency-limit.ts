/** Runs tasks concurrently, up to a limit. */
export interface ConcurrencyLimit {
  /** Waits until a task may run, and starts it. */
  readonly start: (work: () => Promise<void>) => Promise<void>;
  /** Waits until no task runs. */
  readonly waitForAll: () => Promise<void>;
}

/** A limit of `maxTasks` tasks, which must not throw. */
export function createConcurrencyLimit(maxTasks: number): ConcurrencyLimit {
  let activeCount = 0;
  let notifyWaiter = (): void => {};
  const waitUntil = async (isMet: () => boolean): Promise<void> => {
    while (!isMet()) {
      await new Promise<void>((resolve) => {
        notifyWaiter = resolve;
      });
    }
  };
  return {
    start: async (work) => {
      await waitUntil(() => activeCount < maxTasks);
      activeCount += 1;
      void work().finally(() => {
        activeCount -= 1;
        notifyWaiter();
      });
    },
    waitForAll: () => waitUntil(() => activeCount === 0),
  };
}

/** A function that waits for its turn, in the order of the calls; its result ends the turn. */
export function createTurns(): () => Promise<() => void> {
  let lastTurn = Promise.resolve();
  return async () => {
    const previousTurn = lastTurn;
    let endTurn = (): void => {};
    lastTurn = new Promise((resolve) => {
      endTurn = resolve;
    });
    await previousTurn;
    return endTurn;
  };
}
