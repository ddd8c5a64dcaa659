import { usage } from '../errors.ts';
import { flagName } from '../fields/field.ts';
import { isScalar } from '../fields/field-flag.ts';
import { type FlagValues, textOf } from '../fields/flag.ts';
import type { Operation } from '../operations/operation.ts';
import { targetOf } from '../operations/target.ts';

/**
 * What on the command line asks for stdin by name: `-f -`, `--tools @-`, `-` as a file or as the whole prompt. Throws
 * usage for two of them.
 */
export function stdinClaim(operation: Operation, args: readonly string[], flags: FlagValues): string | undefined {
  const claims = [
    ...['file', 'batch'].flatMap((name) => (textOf(flags, name) === '-' ? [`--${name} -`] : [])),
    ...namedArguments(operation, args).map(() => 'the argument -'),
    ...referenceFlags(operation).flatMap((name) => (textOf(flags, name) === '@-' ? [`--${name} @-`] : [])),
  ];
  if (claims.length > 1) throw usage(`stdin can be read once, and ${claims.join(' and ')} both want it`);
  return claims[0];
}

// Among other words of a prompt a dash is a dash.
function namedArguments({ arguments: argument }: Operation, args: readonly string[]): readonly string[] {
  return argument?.as === 'prompt' && args.length > 1 ? [] : args.filter((word) => word === '-');
}

function referenceFlags(operation: Operation): string[] {
  const fields = Object.entries(targetOf(operation).fields).filter(
    ([, field]) => field.secret || !(isScalar(field) || field.type === 'boolean'),
  );
  const shorthands = Object.entries(operation.shorthands ?? {}).filter(([, { kind }]) => kind === 'reply-schema');
  return [...fields.map(([name]) => flagName(name)), ...shorthands.map(([name]) => name)];
}
