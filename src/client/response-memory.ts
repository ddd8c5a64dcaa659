import { createGarbageLimit, limitYoungGeneration } from '../files/heap-limit.ts';

/** What the responses of one request hold, of the memory that all requests of a process share. */
export interface ResponseMemory {
  /** Waits until the request may hold so many bytes; above `largeBytes`, one request at a time may. */
  readonly hold: (bytes: number, largeBytes?: number) => Promise<void>;
  readonly release: () => void;
  readonly hasWaited: () => boolean;
}

const LARGE_RESPONSE_BYTES = 1024 * 1024;
// A response is held up to three times: as received, as its result, and as garbage.
const MAX_SHARED_BYTES = 8 * 1024 * 1024;

/** The memory of all responses: above 8 MiB, or 1 MiB for one, a single request at a time gets more. Ordered results pass `turn`. */
export function createResponseBudget(): (turn?: Promise<unknown>) => ResponseMemory {
  const takeTurn = createTurns();
  const limitGarbage = createGarbageLimit();
  let sharedBytes = 0;
  return (turn) => {
    let heldBytes = 0;
    let isLarge = false;
    let endTurn: (() => void) | undefined;
    let hasWaited = false;
    return {
      hasWaited: () => hasWaited,
      hold: async (bytes, largeBytes = LARGE_RESPONSE_BYTES) => {
        sharedBytes += bytes - heldBytes;
        heldBytes = bytes;
        if (bytes <= largeBytes && sharedBytes <= MAX_SHARED_BYTES) return;
        limitYoungGeneration();
        hasWaited = true;
        await turn;
        if (!turn) endTurn ??= await takeTurn();
        // What the request before this one held is garbage once its functions have returned.
        await new Promise(setImmediate);
        limitGarbage(!isLarge);
        isLarge = true;
      },
      release: () => {
        sharedBytes -= heldBytes;
        heldBytes = 0;
        isLarge = false;
        endTurn?.();
        endTurn = undefined;
      },
    };
  };
}

/** A function that waits for its turn, in the order of the calls; its result ends the turn. */
export function createTurns(): () => Promise<() => void> {
  let lastTurn = Promise.resolve();
  return () => {
    const turn = lastTurn;
    let endTurn = (): void => {};
    lastTurn = new Promise((resolve) => {
      endTurn = resolve;
    });
    return turn.then(() => endTurn);
  };
}
