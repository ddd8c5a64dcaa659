import { Option, type Command as Program } from 'commander';
import type { Flag, FlagValues } from '../flag.ts';

/** The commander options of a flag: two for a boolean, `--x` and `--no-x`. */
export function commanderOptions(flag: Flag): Option[] {
  const on = flag.short ? `-${flag.short}, --${flag.name}` : `--${flag.name}`;
  const off = `--no-${flag.name}`;
  switch (flag.takes) {
    case 'switch':
      return [new Option(on)];
    case 'off':
      return [new Option(off)];
    case 'boolean':
      return [new Option(on), new Option(off)];
    case 'optional':
      return [new Option(`${on} [value]`)];
    case 'value':
      return [new Option(`${on} ${flag.value}`)];
    case 'values':
      // A collector: a variadic option would take the arguments after it.
      return [new Option(`${on} ${flag.value}`).argParser(appendValue)];
  }
}

/** The values of the flags given on the command line, without commander's defaults. */
export function readFlagValues(program: Program, flags: readonly Flag[]): FlagValues {
  const values = new Map<string, boolean | string | readonly string[]>();
  for (const flag of flags) {
    const attribute = new Option(`--${flag.name}`).attributeName();
    if (program.getOptionValueSource(attribute) !== 'cli') continue;
    const value = program.getOptionValue(attribute);
    values.set(flag.name, flag.takes === 'optional' && value === '' ? true : value);
  }
  return values;
}

function appendValue(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value];
}
