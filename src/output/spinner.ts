import type { Runtime } from '../runtime.ts';

// Shorter waits are over before anybody wonders.
const PATIENCE = 300;

/** Says on the terminal, after 300 ms, that something takes long; the result ends it. Silent where stderr is no terminal. */
export function delayedSpinner({ stderr, after }: Runtime, text: string): () => void {
  // A terminal that does not know its width would be filled with lines.
  if (stderr.isTTY !== true || !stderr.columns) return () => {};
  let stop: (() => void) | undefined;
  let isOver = false;
  const cancel = after(PATIENCE, async () => {
    const { startSpinner } = await import('./progress.ts');
    if (!isOver) stop = startSpinner(stderr, text);
  });
  return () => {
    isOver = true;
    cancel();
    stop?.();
  };
}
