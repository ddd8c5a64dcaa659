/** Work that goes on at the same time, of which there is never more than so much. */
export interface ConcurrencyLimit {
  /** Starts a piece of work when there is room for it; done when it has begun. */
  readonly start: (work: () => Promise<void>) => Promise<void>;
  /** Waits until none goes on. */
  readonly waitForAll: () => Promise<void>;
}

/** Room for so many pieces of work, which must not throw. */
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
