import { Option, type Command as Program } from 'commander';
import type { Flag, FlagValues } from '../flag.ts';

/** The commander options of a flag; the second form of a boolean is hidden, because the first names both. */
export function commanderOptions(flag: Flag): Option[] {
  const on = flag.short ? `-${flag.short}, --${flag.name}` : `--${flag.name}`;
  const off = `--no-${flag.name}`;
  switch (flag.takes) {
    case 'switch':
      return [new Option(on, flag.summary)];
    case 'off':
      return [new Option(off, flag.summary)];
    case 'boolean':
      return [new Option(on, flag.summary), new Option(off).hideHelp()];
    case 'value':
      return [new Option(`${on} ${flag.value}`, flag.summary)];
    case 'values':
      // A collector, not a variadic option: that would swallow the arguments after it.
      return [new Option(`${on} ${flag.value}`, flag.summary).argParser(appendValue)];
  }
}

/** How help names an option: both forms of a boolean at once. */
export function optionTerm(option: Option, flags: readonly Flag[]): string {
  const flag = flags.find(({ name }) => option.long === `--${name}`);
  return flag?.takes === 'boolean' ? option.flags.replace('--', '--[no-]') : option.flags;
}

/** The values of the flags that stood on the command line; defaults of commander's own are none. */
export function readFlagValues(program: Program, flags: readonly Flag[]): FlagValues {
  const values = new Map<string, boolean | string | readonly string[]>();
  for (const flag of flags) {
    const attribute = new Option(`--${flag.name}`).attributeName();
    if (program.getOptionValueSource(attribute) === 'cli') values.set(flag.name, program.getOptionValue(attribute));
  }
  return values;
}

function appendValue(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value];
}
