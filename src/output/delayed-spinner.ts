import type { Runtime } from '../runtime.ts';
import type { Spinner } from './ora-spinner.ts';

// Shorter waits need no explanation.
const SPINNER_DELAY_MS = 150;
const LINE_INTERVAL_MS = 30_000;

/** Shows a spinner on stderr after 150 ms; where stderr cannot draw it, notes the text every 30 s. */
export function startDelayedSpinner(
  { stderr, after, env }: Runtime,
  text: string | (() => string),
  note: (line: string) => void,
): Spinner {
  // Without a width, each frame would be a new line.
  const canDraw = stderr.isTTY === true && Boolean(stderr.columns) && env.TERM !== 'dumb' && !env.CI;
  if (!canDraw) {
    let cancelLine = (): void => {};
    const scheduleLine = (): void => {
      cancelLine = after(LINE_INTERVAL_MS, () => {
        const line = typeof text === 'string' ? text : text();
        if (line !== '') note(line);
        scheduleLine();
      });
    };
    scheduleLine();
    return { clear: () => {}, stop: () => cancelLine() };
  }
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
