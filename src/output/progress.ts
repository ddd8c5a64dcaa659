import ora from 'ora';
import type { OutputStream } from '../runtime.ts';

/** A line on a terminal that shows that something goes on. */
export interface Progress {
  readonly say: (text: string) => void;
  /** Makes room for a line of text; it comes back below it. */
  readonly clear: () => void;
  /** Ends it and leaves no trace. */
  readonly stop: () => void;
}

/** Starts a spinner on a terminal. */
export function startSpinner(stream: OutputStream, text: string): Progress {
  // Neither stdin nor the exit of the process is the spinner's business.
  const spinner = ora({ stream, text, discardStdin: false, hideCursor: false, isEnabled: true }).start();
  return {
    say: (now) => {
      spinner.text = now;
    },
    clear: () => void spinner.clear(),
    stop: () => void spinner.stop(),
  };
}
