/** The position of one result in the output. */
export interface ResultSlot {
  /** Writes the result, or nothing, when it is its turn. After a failed write nothing more is written. */
  readonly put: (result: Uint8Array | undefined) => Promise<void>;
}

/** Opens slots in the order of the results. */
export type ResultSlotFactory = () => ResultSlot;

/** Results in the order of the responses. */
export function createUnorderedSlots(write: (result: Uint8Array) => Promise<void>): ResultSlotFactory {
  return () => ({ put: async (result) => result && write(result) });
}

/** Results in the order of their slots; early ones are held. `write` has to keep the order of its calls. */
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
          // Its turn is over.
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
