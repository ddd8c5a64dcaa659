import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** One run of jq: the text of its input, and the filter. */
export interface JqInput {
  readonly input: string;
  readonly filter: string;
}

/** The result of one run of jq: one JSON text per line, and what it wrote to its stderr. */
export interface JqRun {
  readonly lines: readonly string[];
  readonly stderr: string;
  readonly exitCode: number;
}

/** jq itself, in a thread that starts with the first run. */
export interface JqEngine {
  /** Rejects if the run exceeds its memory or its stack, and once the signal is aborted, which ends the run. One run at a time. */
  readonly run: (run: JqInput, signal: AbortSignal) => Promise<JqRun>;
}

/** An engine that runs the program in a file, which is beside the bundle. */
export function createJqEngine(file = new URL('./jq-worker.js', import.meta.url)): JqEngine {
  let worker: Worker | undefined;
  return {
    run: async (run, signal) => {
      worker ??= new Worker(file);
      try {
        const response = once(worker, 'message', { signal });
        worker.postMessage(run);
        const [result] = await response;
        return result;
      } catch (error) {
        void worker.terminate();
        worker = undefined;
        throw error;
      }
    },
  };
}
