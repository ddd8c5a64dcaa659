import type { Runtime } from '../runtime.ts';
import type { Spinner } from './ora-spinner.ts';

// Shorter waits are over before anybody wonders.
const SPINNER_DELAY_MS = 300;

/** Says on the terminal, after 300 ms, that something takes long. Silent where stderr is no terminal. */
export function startDelayedSpinner({ stderr, after, env }: Runtime, text: string | (() => string)): Spinner {
  // A terminal that does not know its width would be filled with lines.
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
