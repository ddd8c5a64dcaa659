import type { Runtime } from '../runtime.ts';
import type { Progress } from './progress.ts';

// Shorter waits are over before anybody wonders.
const PATIENCE = 300;

// How long a text is shown before it is asked for again, in milliseconds.
const PAUSE = 200;

/**
 * Says on the terminal, after 300 ms, that something takes long; `text` is asked for again as long as it does. Silent where
 * stderr is no terminal.
 */
export function delayedSpinner({ stderr, after }: Runtime, text: () => string): Pick<Progress, 'clear' | 'stop'> {
  // A terminal that does not know its width would be filled with lines.
  if (stderr.isTTY !== true || !stderr.columns) return { clear: () => {}, stop: () => {} };
  let progress: Progress | undefined;
  let isOver = false;
  const tell = (): void => {
    progress?.say(text());
    cancel = after(PAUSE, tell);
  };
  let cancel = after(PATIENCE, async () => {
    const { startSpinner } = await import('./progress.ts');
    if (isOver) return;
    progress = startSpinner(stderr, text());
    tell();
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
