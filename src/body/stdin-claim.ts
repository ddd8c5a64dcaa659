import { usageFailure } from '../errors.ts';
import { flagName } from '../fields/field.ts';
import { isScalar } from '../fields/field-flag.ts';
import { type FlagValues, getArrayFlag, getStringFlag } from '../flag.ts';
import { flagTarget, type Operation } from '../operations/operation.ts';

/** What asks for stdin by name: `-f -`, `--tools @-`, `--attach -`, `-` as a file or as the whole prompt. Throws usage for two. */
export function stdinClaim(operation: Operation, args: readonly string[], flags: FlagValues): string | undefined {
  const claims = [
    ...['file', 'batch'].flatMap((name) => (getStringFlag(flags, name) === '-' ? [`--${name} -`] : [])),
    ...getArrayFlag(flags, 'attach').flatMap((path) => (path === '-' ? ['--attach -'] : [])),
    ...stdinArguments(operation, args).map(() => 'the argument -'),
    ...fileReferenceFlags(operation).flatMap((name) => (getStringFlag(flags, name) === '@-' ? [`--${name} @-`] : [])),
  ];
  if (claims.length > 1)
    throw usageFailure(
      `stdin can be read only once, but ${claims.join(' and ')} both name it`,
      'use a file for one of them',
    );
  return claims[0];
}

// Among other words of a prompt a dash is a dash.
function stdinArguments({ arguments: argument }: Operation, args: readonly string[]): readonly string[] {
  return argument?.as === 'prompt' && args.length > 1 ? [] : args.filter((word) => word === '-');
}

function fileReferenceFlags(operation: Operation): string[] {
  const fields = Object.entries(flagTarget(operation).fields).filter(
    ([, field]) => field.secret || !(isScalar(field) || field.type === 'boolean'),
  );
  const shorthands = Object.entries(operation.shorthands ?? {}).filter(([, { kind }]) => kind === 'reply-schema');
  return [...fields.map(([name]) => flagName(name)), ...shorthands.map(([name]) => name), 'expect-schema'];
}
