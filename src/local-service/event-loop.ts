import { setImmediate } from 'node:timers/promises';
import type { ExchangeSignal } from '../http/message.ts';

// A compromise between the cost of an interruption and the delay of other requests.
const ITEMS_PER_YIELD = 16;

/** Lets timers, signals and other requests have their turn. Throws the reason of a signal that was aborted meanwhile. */
export async function yieldToEventLoop(signal: ExchangeSignal | undefined): Promise<void> {
  await setImmediate();
  signal?.throwIfAborted();
}

// Shorter than what a turn of the event loop takes.
const MAX_UNINTERRUPTED_BYTES = 16 * 1024;

/** Yields to the event loop after work on a number of bytes that takes long. Throws like yieldToEventLoop. */
export async function yieldAfterWork(bytes: number, signal: ExchangeSignal | undefined): Promise<void> {
  if (bytes > MAX_UNINTERRUPTED_BYTES) return yieldToEventLoop(signal);
  signal?.throwIfAborted();
}

/** The same values, with periodic yields to the event loop: an iterable in memory would otherwise never yield. */
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
