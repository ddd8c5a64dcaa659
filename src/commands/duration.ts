import { usage } from '../errors.ts';
import { durationOf } from '../fields/time.ts';

/** The milliseconds of a duration that `source` gives, such as a flag. Throws usage for what is none. */
export function readDuration(source: string, text: string): number {
  const milliseconds = durationOf(text);
  if (milliseconds !== undefined) return milliseconds;
  throw usage(`${source} cannot be ${JSON.stringify(text)}`, 'write a time like 90s, 2m or 1h, at most 596h');
}
