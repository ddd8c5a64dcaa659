import type { Command } from '../command.ts';
import type { Flag } from '../flag.ts';
import type { ResultKind } from '../results/output-format.ts';
import { reportFlags, resultFlags } from './shared-flags.ts';

/** The definition of a command, without what its name says and what all commands share. */
export interface CommandDefinition extends Pick<Command, 'summary' | 'about' | 'argument' | 'operation' | 'load'> {
  /** Its own flags, created when they are needed. */
  readonly flags?: () => readonly Flag[];
  /** The kind of its result, whose formats it accepts. */
  readonly result?: ResultKind;
  /** Flags about reporting that have no effect: the command accepts them, and help does not list them. */
  readonly hides?: readonly ('verbose' | 'quiet')[];
  /** What each example does, by its command line without `svc`. */
  readonly examples: { readonly [args: string]: string };
}

/** The commands of one heading of help, by name. */
export function defineCommands(group: string, definitions: { readonly [name: string]: CommandDefinition }): Command[] {
  return Object.entries(definitions).map(([name, definition]) => {
    const examples = Object.entries(definition.examples).map(([args, why]) => ({ args, why }));
    return defineCommand(name, { ...definition, group, examples });
  });
}

type OneDefinition = Omit<CommandDefinition, 'examples'> & Pick<Command, 'group' | 'examples'>;

/** One command; its flags are created on first use, because a run needs those of one command. */
export function defineCommand(name: string, { flags: own, result, hides = [], ...definition }: OneDefinition): Command {
  const isHidden = (flag: Flag): boolean => hides.some((hidden) => hidden === flag.name);
  let flags: readonly Flag[] | undefined;
  return {
    ...definition,
    name,
    words: name.split(' '),
    get flags() {
      flags ??= [
        ...(own?.() ?? []),
        ...(result ? resultFlags(result) : []),
        ...reportFlags.map((flag): Flag => (isHidden(flag) ? { ...flag, isHidden: true } : flag)),
      ];
      return flags;
    },
    get listedFlags() {
      return this.flags.filter((flag) => !flag.isHidden);
    },
  };
}
