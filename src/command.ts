import type { Context } from './context.ts';
import type { Flag, FlagValues } from './flag.ts';
import type { Example } from './operations/operation.ts';

/** A command that can be run. */
export interface Command {
  readonly words: readonly string[];
  readonly summary: string;
  readonly about?: string;
  readonly argument?: Argument;
  readonly flags: readonly Flag[];
  readonly examples: readonly Example[];
  /** Loads what runs the command; nothing of it is loaded before. */
  readonly load: () => Promise<RunCommand>;
}

/** The arguments of a command besides its flags. */
export interface Argument {
  readonly name: string;
  readonly summary: string;
  readonly isRepeatable?: true;
  readonly isRequired?: true;
  /** The only values it takes; anything else is a wrong command line. */
  readonly choices?: readonly string[];
  /** Words to offer where it is completed. */
  readonly offers?: readonly string[];
  /** It is a file. */
  readonly isFile?: true;
}

/** A parsed command line. */
export interface Invocation {
  readonly command: Command;
  readonly args: readonly string[];
  readonly flags: FlagValues;
}

/** How the process ends: an exit code, or a signal that `bin` raises so that callers see it. */
export type ProcessEnd = number | { readonly signal: NodeJS.Signals };

/** Runs a command. Resolves to nothing on success, or to how the process ends; throws Failure otherwise. */
export type RunCommand = (invocation: Invocation, context: Context) => Promise<ProcessEnd | undefined> | Promise<void>;
