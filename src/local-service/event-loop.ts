import { setImmediate } from 'node:timers/promises';
import type { ExchangeSignal } from '../http/message.ts';

// A compromise between the cost of an interruption and the delay of other requests.
const ITEMS_PER_YIELD = 16;

// Shorter than what a turn of the event loop takes.
const MAX_UNINTERRUPTED_BYTES = 16 * 1024;

/** Lets other work have its turn, unless the work before was on few bytes. Throws the reason of an aborted signal. */
export async function yieldToEventLoop(signal: ExchangeSignal | undefined, workBytes = Infinity): Promise<void> {
  if (workBytes > MAX_UNINTERRUPTED_BYTES) await setImmediate();
  signal?.throwIfAborted();
}

/** The same values; an iterable in memory would never yield to the event loop. */
export async function* withPeriodicYields<T>(
  values: AsyncIterable<T> | Iterable<T>,
  signal: ExchangeSignal | undefined,
): AsyncGenerator<T> {
  let count = 0;
  for await (const value of values) {
    count += 1;
    if (count % ITEMS_PER_YIELD === 0) await yieldToEventLoop(signal);
    yield value;
  }
}
