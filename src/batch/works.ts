/** Work that goes on at the same time, of which there is never more than so much. */
export interface Works {
  /** Starts a piece of work when there is room for it; done when it has begun. */
  readonly start: (work: () => Promise<void>) => Promise<void>;
  /** Waits until none goes on. */
  readonly ended: () => Promise<void>;
}

/** Room for so many pieces of work, which must not throw. */
export function worksOf(most: number): Works {
  let count = 0;
  let tell = (): void => {};
  const until = async (isEnough: () => boolean): Promise<void> => {
    while (!isEnough()) {
      await new Promise<void>((resolve) => {
        tell = resolve;
      });
    }
  };
  return {
    start: async (work) => {
      await until(() => count < most);
      count += 1;
      void work().finally(() => {
        count -= 1;
        tell();
      });
    },
    ended: () => until(() => count === 0),
  };
}
