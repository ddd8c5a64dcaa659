import type { Context } from './context.ts';
import type { Flag, FlagValues, KnownNameKind } from './flag.ts';
import type { Example, Operation } from './operations/operation.ts';

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
  readonly load: () => Promise<RunCommand>;
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

export interface Invocation {
  readonly command: Command;
  readonly args: readonly string[];
  readonly flags: FlagValues;
}

/** The end of the process: an exit code, or a signal that `bin` raises so that callers see it. */
export type ProcessEnd = number | { readonly signal: NodeJS.Signals };

/** Resolves to nothing on success, or to how the process ends. */
export type CommandEnd = Promise<ProcessEnd | undefined> | Promise<void>;

/** Runs a command. Throws Failure unless it succeeds. */
export type RunCommand = (invocation: Invocation, context: Context) => CommandEnd;
