import { runInNewContext } from 'node:vm';
import { isRecord } from '../json/is-record.ts';

const TIME_LIMIT_MS = 3000;

/**
 * The result of a function that could run without end and block the event loop, such as matching a regular expression.
 * Throws Error if it takes more than 3 s, else what the function throws.
 */
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
