import ora from 'ora';
import type { OutputStream } from '../runtime.ts';

/** Starts a spinner on a terminal; the result ends it and leaves no trace. */
export function startSpinner(stream: OutputStream, text: string): () => void {
  // Neither stdin nor the exit of the process is the spinner's business.
  const spinner = ora({ stream, text, discardStdin: false, hideCursor: false, isEnabled: true }).start();
  return () => void spinner.stop();
}
