import { usageFailure } from '../errors.ts';
import { flagName, isScalar } from '../fields/field.ts';
import { rejectReplacedInput } from '../files/file-replacement.ts';
import { type FlagValues, getArrayFlag, getStringFlag, isFlagOn } from '../flag.ts';
import { flagTarget, type Operation } from '../operations/operation.ts';
import type { Edit } from './edit.ts';

/** Throws usage if `-o`, `--junit` or `--summary` would change one of the inputs, and for `@` without a name. */
export async function rejectReplacedInputs(
  operation: Operation,
  args: readonly string[],
  flags: FlagValues,
  cwd: string,
): Promise<void> {
  const inputs = namedInputs(operation, args, flags).map(({ path }) => path);
  await rejectReplacedInput('-o', getStringFlag(flags, 'output'), inputs, cwd);
  for (const name of ['junit', 'summary'])
    await rejectReplacedInput(`--${name}`, getStringFlag(flags, name), inputs, cwd);
}

/** The flag or argument that names stdin: `--stdin`, `-f -`, `--tools @-`, `--attach -`, `-` as a file or as the whole prompt. Throws usage for two. */
export function stdinClaim(operation: Operation, args: readonly string[], flags: FlagValues): string | undefined {
  const claims = namedInputs(operation, args, flags).flatMap(({ path, label }) => (path === '-' ? [label] : []));
  if (claims.length > 1)
    throw usageFailure(
      `stdin can be read only once, but ${new Set(claims).size === 1 ? `${claims[0]} is given ${claims.length} times` : `${claims.join(' and ')} both name it`}`,
      'use a file for one of them',
    );
  return claims[0];
}

// An input that a command line names: a file, or stdin if the path is `-`; and what names it, for messages.
interface NamedInput {
  readonly path: string;
  readonly label: string;
}

// The inputs that a command line names: `-f in.json`, `--tools @in.json`, `--attach in.png`, and files as arguments.
function namedInputs(operation: Operation, args: readonly string[], flags: FlagValues): NamedInput[] {
  return [
    ...(isFlagOn(flags, 'stdin') ? [{ path: '-', label: '--stdin' }] : []),
    ...['file', 'batch', 'rows', 'attach'].flatMap((name) =>
      [getStringFlag(flags, name) ?? getArrayFlag(flags, name)]
        .flat()
        .map((path) => ({ path, label: `--${name} ${path}` })),
    ),
    ...fileArguments(operation, args).map((path) => ({ path, label: `the argument ${path}` })),
    ...fileReferenceFlags(operation).flatMap((name) => {
      const word = getStringFlag(flags, name);
      const path = word === undefined ? undefined : fileReference(word, `--${name}`);
      return path === undefined ? [] : [{ path, label: `--${name} ${word}` }];
    }),
  ];
}

// A prompt is words, except that `-` alone is stdin.
function fileArguments({ arguments: argument }: Operation, args: readonly string[]): readonly string[] {
  return argument?.as !== 'prompt' || (args.length === 1 && args[0] === '-') ? args : [];
}

/** The flags whose value can be `@file`. */
export function fileReferenceFlags(operation: Operation): string[] {
  const fields = Object.entries(flagTarget(operation).fields).filter(
    ([, field]) => field.isSecret || !(isScalar(field) || field.type === 'boolean'),
  );
  const shorthands = Object.entries(operation.shorthands ?? {}).filter(([, { kind }]) => kind === 'reply-schema');
  return [...fields.map(([name]) => flagName(name)), ...shorthands.map(([name]) => name), 'expect-schema'];
}

/** The path in `@file`, or `-` in `@-`; undefined for any other value. Throws usage for `@` alone, naming `label`. */
export function fileReference(word: string, label: string): string | undefined {
  if (word === '@') throw usageFailure(`${label} @ has no file name`, `write ${label} @file, or ${label} @- for stdin`);
  return word.startsWith('@') ? word.slice(1) : undefined;
}

/** The files given for a field, the edit that inserts an empty array for them, and the flags without the flag that named them. */
interface FileArguments {
  readonly files: readonly string[];
  readonly edits: readonly Edit[];
  readonly otherFlags: FlagValues;
}

/**
 * The files that are arguments, or the one of `--trajectory-groups @file`, which is the same. In the body they are an
 * empty list until they are read. Throws usage for both.
 */
export function parseFileArguments(operation: Operation, args: readonly string[], flags: FlagValues): FileArguments {
  const argumentUse = operation.arguments?.as;
  if (typeof argumentUse !== 'object') return { files: [], edits: [], otherFlags: flags };
  const name = flagName(argumentUse.filesOf);
  const word = getStringFlag(flags, name);
  if (args.length > 0 && word !== undefined)
    throw usageFailure(`--${name} cannot be combined with files that set the same field`, 'remove one of them');
  const file = word === undefined ? undefined : fileReference(word, `--${name}`);
  const files = file === undefined ? args : [file];
  const otherFlags = new Map([...flags].filter(([flag]) => flag !== name || files.length === 0));
  const path = [...flagTarget(operation).path, argumentUse.filesOf];
  const label = files.map((file) => (file === '-' ? 'stdin' : file)).join(' ');
  return { files, edits: files.length > 0 ? [{ path, text: '[]', origin: { label } }] : [], otherFlags };
}
