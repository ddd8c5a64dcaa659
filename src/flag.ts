export type KnownNameKind = 'profiles' | 'projects' | 'models';

/** A flag of a command, as data: parsing, help, completions and the reference read it. */
export interface Flag {
  /** Without the dashes. */
  readonly name: string;
  readonly short?: string;
  /** `boolean`: `--x` and `--no-x`; `off`: only `--no-x`, of the name `x`; `values`: repeatable; `optional`: `--x`, or `--x=value`. */
  readonly takes: 'switch' | 'boolean' | 'off' | 'value' | 'values' | 'optional';
  /** The placeholder of the value in help: `<file>`. */
  readonly value?: string;
  readonly summary: string;
  /** What `--no-x` does, of a flag that has both forms. */
  readonly offSummary?: string;
  readonly group: string;
  readonly default?: string;
  /** The only legal values; svc exits with 2 for any other. */
  readonly choices?: readonly string[];
  /** Values that completion offers although others are legal. */
  readonly offers?: readonly string[];
  /** Completion offers the names of this kind that svc knows. */
  readonly completes?: KnownNameKind;
  /** Accepted for scripts, but not listed in help: it has no effect here. */
  readonly isHidden?: true;
  /** The value is a secret unless it is `random` or `@file`. */
  readonly isSecret?: true;
  /** Given twice, svc exits with 2; of other flags the last one counts. */
  readonly isOnce?: true;
  /** `--no-x` is accepted beside `--x <value>`. */
  readonly hasOff?: true;
  /** Flags that contradict it, in the form given: `start`, `no-stream`. With both, svc exits with 2. */
  readonly conflicts?: readonly string[];
  /** What to write in place of both, by the name of a flag that contradicts it. */
  readonly instead?: { readonly [conflict: string]: string };
  /** The other sources of a value that is required, such as `--since` or a variable. */
  readonly or?: readonly string[];
}

/** Flags by their forms in help: `-y, --yes`, `--no-parent`, `--[no-]stdin`, `--data <file>`, `--spool[=<only>]`, `--env <name>...`. */
export interface FlagForms {
  readonly [form: string]: string | Omit<Flag, 'name' | 'short' | 'takes' | 'value' | 'group'>;
}

/** The flags of one heading of help. */
export function flagGroup<const Forms extends FlagForms>(group: string, flags: Forms): FlagList<Options<Forms>> {
  return Object.entries(flags).map(([form, details]) => ({
    ...parseFlagForm(form),
    group,
    ...(typeof details === 'string' ? { summary: details } : withDefault(details)),
  }));
}

/** The details of a flag whose summary also says its default. */
export function withDefault<Details extends Pick<Flag, 'summary' | 'default'>>(details: Details): Details {
  const { summary, default: fallback } = details;
  return fallback === undefined ? details : { ...details, summary: `${summary} (default: ${fallback})` };
}

function parseFlagForm(form: string): Pick<Flag, 'name' | 'short' | 'takes' | 'value'> {
  const [, short, off, name = '', optional, value, more] =
    /^(?:-(\w), )?--(no-|\[no-\])?([\w-]+)(?:(\[=)| )?(?:(<.+>)\]?)?(\.\.\.)?$/.exec(form) ?? [];
  return {
    name,
    ...(short ? { short } : {}),
    ...(value
      ? { takes: optional ? 'optional' : more ? 'values' : 'value', value }
      : { takes: off === 'no-' ? 'off' : off ? 'boolean' : 'switch' }),
  };
}

/** The long forms of a flag on the command line: `--x`, `--no-x`, or both. */
export function flagForms({ name, takes, hasOff }: Flag): string[] {
  const off = takes === 'off' || takes === 'boolean' || hasOff ? [`--no-${name}`] : [];
  return takes === 'off' ? off : [`--${name}`, ...off];
}

/** A flag as help names it: `-m, --model <text>`, `--[no-]echo`. */
export function flagTerm({ name, short, takes, value }: Flag): string {
  const long = takes === 'boolean' ? `--[no-]${name}` : takes === 'off' ? `--no-${name}` : `--${name}`;
  const placeholder = takes === 'boolean' || !value ? '' : takes === 'optional' ? `[=${value}]` : ` ${value}`;
  return `${short ? `-${short}, ` : ''}${long}${placeholder}`;
}

export function takesValue({ takes }: Flag): boolean {
  return takes === 'value' || takes === 'values';
}

/** The value of a flag on the command line, and undefined for one that is not given. */
export type FlagValue = boolean | string | readonly string[];

/** The options of a table of forms, by name: `--group-by <path>` is `groupBy`, a string; others are arrays, booleans, or true when given. */
export type Options<Forms> = {
  readonly [Form in keyof Forms as OptionKey<Long<Form>>]: OptionValue<Form> | undefined;
};

type Long<Form> = Form extends `-${string}, --${infer Rest}` ? Rest : Form extends `--${infer Rest}` ? Rest : never;

type OptionKey<Form> = Form extends `[no-]${infer Name}`
  ? CamelCase<Name>
  : Form extends `${infer Name} ${string}` | `${infer Name}[=${string}`
    ? CamelCase<Name>
    : CamelCase<Form>;

export type CamelCase<Name> = Name extends `${infer First}-${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name;

type OptionValue<Form> = Form extends `${string}...`
  ? readonly string[]
  : Form extends `${string}[=${string}`
    ? string | true
    : Form extends `${string} <${string}`
      ? string
      : Form extends `--[no-]${string}`
        ? boolean
        : true;

/** The name of an option in `Options`: that of commander. */
export function optionKey(flag: string): string {
  return flag.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

/** Options by their names, for what follows from a table: of settings, or of the fields of a body. */
export type OptionValues = { readonly [name: string]: FlagValue | undefined };

/** True if one of the flags was given, by the name that a table has. */
export function isGiven(options: OptionValues, ...flags: readonly string[]): boolean {
  return flags.some((flag) => options[optionKey(flag)] !== undefined);
}

declare const optionsOfList: unique symbol;

/** Flags whose values are these options. */
export type FlagList<O> = readonly Flag[] & { readonly [optionsOfList]?: O };

/** The options of a list of flags. */
export type OptionsOfList<List> = List extends FlagList<infer O> ? O : never;

/** Several lists as one, which has the options of all. */
export function joinFlags<Lists extends readonly FlagList<object>[]>(...lists: Lists): FlagList<JoinedOptions<Lists>> {
  return lists.flat();
}

type JoinedOptions<Lists> = Lists extends readonly [FlagList<infer First>, ...infer Rest]
  ? First & JoinedOptions<Rest>
  : unknown;
