import { usageFailure } from '../errors.ts';

/** The path in `@file`, or `-` in `@-`; undefined for any other value. Throws usage for `@` alone, naming `label`. */
export function fileReference(word: string, label: string): string | undefined {
  if (word === '@') throw usageFailure(`${label} @ has no file name`, `write ${label} @file, or ${label} @- for stdin`);
  return word.startsWith('@') ? word.slice(1) : undefined;
}
