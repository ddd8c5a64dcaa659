import type { Context } from './context.ts';
import type { Flag, KnownNameKind, OptionValues } from './flag.ts';
import type { Example, Operation } from './operations/operation.ts';
import type { ResultKind } from './output/output-format.ts';

/** A command, as data: parsing, help, completions, the reference and the man pages read it. */
export interface Command {
  readonly words: readonly string[];
  readonly name: string;
  readonly group: string;
  readonly summary: string;
  readonly about?: string;
  readonly argument?: Argument;
  readonly flags: readonly Flag[];
  readonly listedFlags: readonly Flag[];
  readonly examples: readonly Example[];
  readonly operation?: Operation;
  /** The kind of its result, whose formats it accepts. */
  readonly result?: ResultKind;
  readonly run: (args: readonly string[], readOptions: ReadOptions, context: Context) => CommandEnd;
}

export interface Argument {
  readonly name: string;
  readonly summary: string;
  /** Its form in usage lines, if it differs from that of other arguments. */
  readonly usage?: string;
  readonly isRepeatable?: true;
  readonly isRequired?: true;
  readonly choices?: readonly string[];
  readonly offers?: readonly string[];
  readonly completes?: KnownNameKind;
  readonly isFile?: true;
}

/** Returns the values of the flags; what they are follows from the table of the flags. */
export type ReadOptions = <O extends OptionValues>() => O;

/** The arguments of a command, and its options as the table of its flags has them. */
export interface Invocation<O> {
  readonly args: readonly string[];
  readonly options: O;
}

/** The end of the process: an exit code, or a signal that `bin` raises so that callers see it. */
export type ProcessEnd = number | { readonly signal: NodeJS.Signals };

/** Resolves to nothing on success, or to how the process ends. */
export type CommandEnd = Promise<ProcessEnd | undefined> | Promise<void>;

/** Runs a command. Throws Failure unless it succeeds. */
export type RunCommand<O = object> = (invocation: Invocation<O>, context: Context) => CommandEnd;

/** Whether the command takes another program after --, with whose exit code it ends. */
export function runsChild({ argument }: Command): boolean {
  return argument?.usage?.startsWith('-- ') === true;
}

/** An argument as usage lines show it: `<name>`, `[files...]`, `-- <command> [args...]`. */
export function usageTerm(argument: Argument): string {
  return argument.usage ?? argumentTerm(argument);
}

/** An argument as commander reads it: `<name>`, `[files...]`. */
export function argumentTerm({ name, isRepeatable, isRequired }: Argument): string {
  const term = isRepeatable ? `${name}...` : name;
  return isRequired ? `<${term}>` : `[${term}]`;
}
