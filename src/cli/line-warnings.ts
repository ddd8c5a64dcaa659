import { Buffer, isUtf8 } from 'node:buffer';
import { type Setting, settings } from '../config/settings.ts';
import { usageFailure } from '../errors.ts';
import { closestMatches } from '../fields/closest-match.ts';
import { flagName } from '../fields/field.ts';
import type { Runtime } from '../runtime.ts';
import type { PreparedCommandLine } from './prepare-command-line.ts';

// The variables that svc sets for its children.
const GIVEN_VARIABLES = ['SVC_CALL_ID', 'SVC_TRACE_ID', 'SVC_CREDENTIAL'];

/** What a command line and its environment seem to mean, and svc does not do. */
export async function lineWarnings(
  { tokens, command }: PreparedCommandLine,
  { env, credentials = [] }: Runtime,
): Promise<string[]> {
  const outputs = tokens.flatMap(({ flag, value }) => (flag?.name === 'output' && value !== undefined ? [value] : []));
  const [first, last] = [outputs[0], outputs.at(-1)];
  const twice = first === last ? [] : [`--output was given twice: only ${last} is written, not ${first}`];
  // The output of `call run` is that of another program.
  if (command?.argument?.usage) return twice;
  const variables = settings.flatMap(({ variable }: Setting) => variable ?? []);
  const known = [...variables, ...GIVEN_VARIABLES, ...credentials.map(({ secret }) => secret)];
  const unread = Object.keys(env).filter((name) => name.startsWith('SVC_') && !known.includes(name));
  if (unread.length === 0) return twice;
  // Most starts do not need the table.
  const { variableSynonyms } = await import('./other-tools.ts');
  const names = variables.filter((one) => one.startsWith('SVC_')).map((one) => one.slice('SVC_'.length));
  return [
    ...twice,
    ...unread.flatMap((name) => {
      const word = name.slice('SVC_'.length);
      const parts = word.split('_');
      const fuller = names.find((one) => parts.length > 1 && parts.every((part) => one.split('_').includes(part)));
      const meant = variableSynonyms[word] ?? closestMatches(word, names)[0] ?? fuller;
      if (meant) return [`${name} is not a variable of svc; did you mean SVC_${meant}?`];
      const flag = command?.flags.find((one) => one.name === flagName(word.toLowerCase()));
      return flag ? [`${name} is not a variable of svc; write --${flag.name}`] : [];
    }),
  ];
}

// Node decodes every invalid byte of an argument to this character.
const REPLACEMENT_CHARACTER = '\uFFFD';

/** Throws usage for an argument that is not UTF-8, by the bytes of the command line; without them, returns a warning. */
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
