import { runInNewContext } from 'node:vm';
import { isRecord } from '../json/write-json.ts';

const TIME_LIMIT_MS = 3000;

/** Runs a function that could block the event loop, such as a regular expression. Throws Error after the limit, else as it does. */
export function runWithTimeLimit<T>(run: () => T, limitMs = TIME_LIMIT_MS): T {
  try {
    return runInNewContext('run()', { run }, { timeout: limitMs });
  } catch (error) {
    // Made in the other context, whose Error is another class.
    if (isRecord(error) && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT')
      throw new Error(`it took more than ${limitMs / 1000} s`);
    throw error;
  }
}
