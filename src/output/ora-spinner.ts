import ora from 'ora';
import type { OutputStream } from '../runtime.ts';

/** A line on a terminal that shows that something goes on. */
export interface Spinner {
  /** Makes room for a line of text; it comes back below it. */
  readonly clear: () => void;
  /** Ends it and leaves no trace. */
  readonly stop: () => void;
}

/** Starts a spinner on a terminal. A text that changes is asked for each time it is drawn. */
export function startSpinner(stream: OutputStream, text: string | (() => string)): Spinner {
  const textOptions = typeof text === 'string' ? { text } : { suffixText: text };
  // Neither stdin nor the exit of the process is the spinner's business.
  const spinner = ora({ stream, ...textOptions, discardStdin: false, hideCursor: false, isEnabled: true }).start();
  return { clear: () => void spinner.clear(), stop: () => void spinner.stop() };
}
