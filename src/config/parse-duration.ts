import { usageFailure } from '../errors.ts';
import { durationToMs } from '../fields/time.ts';

/** The milliseconds of a duration that `source` gives, such as a flag. Throws usage for what is none. */
export function parseDurationMs(sourceName: string, text: string): number {
  const milliseconds = durationToMs(text);
  if (milliseconds !== undefined) return milliseconds;
  throw usageFailure(
    `${sourceName} cannot be ${JSON.stringify(text)}`,
    'write a time like 500ms, 90s, 2m or 1h, at most 596h',
  );
}
