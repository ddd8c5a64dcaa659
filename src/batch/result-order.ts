/** The place of one result among all. */
export interface ResultSlot {
  /** Writes the result, or nothing, when it is its turn; done when it was written. Once it has failed, nothing more is written. */
  readonly put: (result: Uint8Array | undefined) => Promise<void>;
}

/** Gives each result its place, in the order in which places are asked for. */
export type ResultSlotFactory = () => ResultSlot;

/** Results as they come. */
export function createUnorderedSlots(write: (result: Uint8Array) => Promise<void>): ResultSlotFactory {
  return () => ({ put: async (result) => result && write(result) });
}

/** Results in the order of their places; those that come early are held. `write` has to keep the order it is called in. */
export function createOrderedSlots(write: (result: Uint8Array) => Promise<void>): ResultSlotFactory {
  const pendingWrites = new Map<number, () => void>();
  let slotCount = 0;
  let nextSlot = 0;
  return () => {
    const index = slotCount;
    slotCount += 1;
    return {
      put: (result) =>
        new Promise((resolve, reject) => {
          // It has had its turn.
          if (index < nextSlot) return resolve();
          pendingWrites.set(index, () => void (result ? write(result) : Promise.resolve()).then(resolve, reject));
          for (let writeNext = pendingWrites.get(nextSlot); writeNext; writeNext = pendingWrites.get(nextSlot)) {
            pendingWrites.delete(nextSlot);
            nextSlot += 1;
            writeNext();
          }
        }),
    };
  };
}
