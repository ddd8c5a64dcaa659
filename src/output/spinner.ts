import type { Runtime } from '../runtime.ts';

// Shorter waits need no explanation.
const SPINNER_DELAY_MS = 150;
const LINE_INTERVAL_MS = 30_000;

interface Spinner {
  /** Removes it until the next frame, so that a line of text can be written. */
  readonly clear: () => void;
  readonly stop: () => void;
}

/** Shows a spinner on stderr after 150 ms; where stderr cannot draw it, notes the text every 30 s. A text that changes is a function. */
export function startDelayedSpinner(
  { stderr, after, env }: Runtime,
  text: string | (() => string),
  note: (line: string) => void,
): Spinner {
  let cancel = (): void => {};
  // Without a width, each frame would be a new line.
  if (stderr.isTTY !== true || !stderr.columns || env.TERM === 'dumb' || env.CI) {
    const scheduleLine = (): void => {
      cancel = after(LINE_INTERVAL_MS, () => {
        const line = typeof text === 'string' ? text : text();
        if (line !== '') note(line);
        scheduleLine();
      });
    };
    scheduleLine();
    return { clear: () => {}, stop: () => cancel() };
  }
  let spinner: Spinner | undefined;
  let isStopped = false;
  cancel = after(SPINNER_DELAY_MS, async () => {
    const { default: ora } = await import('ora');
    if (isStopped) return;
    const textOptions = typeof text === 'string' ? { text } : { suffixText: text };
    // The spinner must not touch stdin or the exit of the process.
    spinner = ora({ stream: stderr, ...textOptions, discardStdin: false, hideCursor: false, isEnabled: true }).start();
  });
  return {
    clear: () => void spinner?.clear(),
    stop: () => {
      isStopped = true;
      cancel();
      spinner?.stop();
    },
  };
}
