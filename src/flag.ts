/** A flag of a command, as data: parsing, help, completions and the reference read it. */
export interface Flag {
  /** Without the dashes. */
  readonly name: string;
  readonly short?: string;
  /** `switch`: on when given. `boolean`: `--x` and `--no-x`. `off`: only `--no-x`, named without the `no-`. `values`: may be given again. */
  readonly takes: 'switch' | 'boolean' | 'off' | 'value' | 'values';
  /** What stands for the value in help: `<file>`. */
  readonly value?: string;
  readonly summary: string;
  /** The heading in help it stands under. */
  readonly group: string;
  /** The only values it takes; anything else is a wrong command line. */
  readonly choices?: readonly string[];
  /** Words to offer where the value is completed, although others are legal too. */
  readonly offers?: readonly string[];
}

/** The flags that were given: true or false for switches and booleans, text for values, a list where one may be given again. */
export type FlagValues = ReadonlyMap<string, boolean | string | readonly string[]>;

/** True when a switch or boolean is on; undefined when it was not given. */
export function getBooleanFlag(flags: FlagValues, name: string): boolean | undefined {
  const value = flags.get(name);
  return typeof value === 'boolean' ? value : undefined;
}

/** The value of a flag that takes one. */
export function getStringFlag(flags: FlagValues, name: string): string | undefined {
  const value = flags.get(name);
  return typeof value === 'string' ? value : undefined;
}

/** All values of a flag that may be given again, in order. */
export function getArrayFlag(flags: FlagValues, name: string): readonly string[] {
  const value = flags.get(name);
  return typeof value === 'object' ? value : [];
}
