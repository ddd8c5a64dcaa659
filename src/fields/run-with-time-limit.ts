import { runInNewContext } from 'node:vm';
import { isRecord } from '../json/is-record.ts';

const TIME_LIMIT_MS = 3000;

/** Runs a function that could block the event loop, such as a regular expression. Throws Error after 3 s, else as it does. */
export function runWithTimeLimit<T>(run: () => T): T {
  try {
    return runInNewContext('run()', { run }, { timeout: TIME_LIMIT_MS });
  } catch (error) {
    // Made in the other context, whose Error is another class.
    if (isRecord(error) && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT')
      throw new Error(`it took more than ${TIME_LIMIT_MS / 1000} s`);
    throw error;
  }
}
