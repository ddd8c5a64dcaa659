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
  // Latin-1 keeps every byte.
  const words = Buffer.from(bytes).toString('latin1').split('\0').slice(0, -1);
  const invalid = words.slice(-argv.length).findIndex((word) => !isUtf8(Buffer.from(word, 'latin1')));
  if (invalid === -1) return undefined;
  throw usageFailure(
    `argument ${invalid + 1} is not valid UTF-8: ${JSON.stringify(argv[invalid])}`,
    'convert it to UTF-8',
  );
}
