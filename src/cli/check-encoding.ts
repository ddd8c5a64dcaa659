import { Buffer, isUtf8 } from 'node:buffer';
import { usageFailure } from '../errors.ts';

// Node decodes every invalid byte of an argument to this character.
const REPLACEMENT_CHARACTER = '\uFFFD';

/**
 * Throws usage when an argument is not valid UTF-8, judged by the bytes of the command line, each argument ended by a
 * zero byte. Without bytes it returns a warning for an argument that may have been invalid.
 */
export function checkArgumentEncoding(
  argv: readonly string[],
  readBytes: () => Uint8Array | undefined,
): string | undefined {
  const at = argv.findIndex((word) => word.includes(REPLACEMENT_CHARACTER));
  if (at === -1) return undefined;
  const bytes = readBytes();
  if (!bytes) return `argument ${at + 1} contains U+FFFD; it may not have been valid UTF-8`;
  const invalid = splitArguments(bytes)
    .slice(-argv.length)
    .findIndex((word) => !isUtf8(word));
  if (invalid === -1) return undefined;
  throw usageFailure(
    `argument ${invalid + 1} is not valid UTF-8: ${JSON.stringify(argv[invalid])}`,
    'convert it to UTF-8, or pass the text in a file with -f or @file',
  );
}

function splitArguments(bytes: Uint8Array): Buffer[] {
  const words: Buffer[] = [];
  let rest = Buffer.from(bytes);
  for (let end = rest.indexOf(0); end !== -1; end = rest.indexOf(0)) {
    words.push(rest.subarray(0, end));
    rest = rest.subarray(end + 1);
  }
  return words;
}
