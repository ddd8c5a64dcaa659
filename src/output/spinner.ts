import type { Runtime } from '../runtime.ts';
import type { Progress } from './progress.ts';

// Shorter waits are over before anybody wonders.
const PATIENCE = 300;

/** Says on the terminal, after 300 ms, that something takes long. Silent where stderr is no terminal. */
export function delayedSpinner({ stderr, after }: Runtime, text: string | (() => string)): Progress {
  // A terminal that does not know its width would be filled with lines.
  if (stderr.isTTY !== true || !stderr.columns) return { clear: () => {}, stop: () => {} };
  let progress: Progress | undefined;
  let isOver = false;
  const cancel = after(PATIENCE, async () => {
    const { startSpinner } = await import('./progress.ts');
    if (!isOver) progress = startSpinner(stderr, text);
  });
  return {
    clear: () => progress?.clear(),
    stop: () => {
      isOver = true;
      cancel();
      progress?.stop();
    },
  };
}
