import ora from 'ora';
import type { OutputStream } from '../runtime.ts';

export interface Spinner {
  /** Removes it until the next frame, so that a line of text can be written. */
  readonly clear: () => void;
  readonly stop: () => void;
}

/** Starts a spinner on a terminal. A text that changes is a function, which is called for each frame. */
export function startSpinner(stream: OutputStream, text: string | (() => string)): Spinner {
  const textOptions = typeof text === 'string' ? { text } : { suffixText: text };
  // The spinner must not touch stdin or the exit of the process.
  const spinner = ora({ stream, ...textOptions, discardStdin: false, hideCursor: false, isEnabled: true }).start();
  return { clear: () => void spinner.clear(), stop: () => void spinner.stop() };
}
