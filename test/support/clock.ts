/** A clock that only the test advances. */
export interface Clock {
  readonly after: (milliseconds: number, action: () => void) => () => void;
  readonly elapsed: () => number;
  readonly advance: (milliseconds: number) => void;
  /** The number of pending timers. */
  readonly pending: () => number;
  /** Lets pending work continue until a condition holds. */
  readonly settled: (condition: () => boolean) => Promise<void>;
}

/** Acts after this many milliseconds of real time, unless the returned function is called before. */
export function after(milliseconds: number, action: () => void): () => void {
  const timer = setTimeout(action, milliseconds);
  return () => clearTimeout(timer);
}

/** A new clock, at 0. */
export function clock(): Clock {
  let now = 0;
  const orders = new Set<{ at: number; action: () => void }>();
  return {
    after: (milliseconds, action) => {
      const order = { at: now + milliseconds, action };
      orders.add(order);
      return () => void orders.delete(order);
    },
    elapsed: () => now,
    advance: (milliseconds) => {
      now += milliseconds;
      for (const order of [...orders].sort((left, right) => left.at - right.at)) {
        if (order.at > now || !orders.delete(order)) continue;
        order.action();
      }
    },
    pending: () => orders.size,
    settled: async (condition) => {
      while (!condition()) await new Promise((resolve) => setImmediate(resolve));
    },
  };
}
