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

/** A command line that was understood. */
export interface Invocation {
  readonly command: Command;
  readonly args: readonly string[];
  readonly flags: FlagValues;
}

/** Runs a command. Throws Failure where it does not succeed. */
export type RunCommand = (invocation: Invocation, context: Context) => Promise<void>;
