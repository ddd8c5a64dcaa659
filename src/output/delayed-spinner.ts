import type { Runtime } from '../runtime.ts';
import type { Spinner } from './ora-spinner.ts';

// Shorter waits need no explanation.
const SPINNER_DELAY_MS = 150;

/** Shows a spinner on stderr after 150 ms; nothing if stderr is not a terminal that can draw it. */
export function startDelayedSpinner({ stderr, after, env }: Runtime, text: string | (() => string)): Spinner {
  // Without a width, each frame would be a new line.
  const canDraw = stderr.isTTY === true && Boolean(stderr.columns) && env.TERM !== 'dumb' && !env.CI;
  if (!canDraw) return { clear: () => {}, stop: () => {} };
  let spinner: Spinner | undefined;
  let isStopped = false;
  const cancel = after(SPINNER_DELAY_MS, async () => {
    const { startSpinner } = await import('./ora-spinner.ts');
    if (!isStopped) spinner = startSpinner(stderr, text);
  });
  return {
    clear: () => spinner?.clear(),
    stop: () => {
      isStopped = true;
      cancel();
      spinner?.stop();
    },
  };
}
