import type { Command } from '../../command.ts';
import { type Flag, flagForms, type KnownNameKind, takesValue } from '../../flag.ts';
import { allCommands, commandsIn, topLevelWords } from '../all-commands.ts';
import { sharedFlags } from '../shared-flags.ts';

/** A flag as shells complete it. */
export interface CompletableFlag {
  /** With its dashes; booleans are two, with `--no-x` as the second. */
  readonly word: string;
  readonly short: string | undefined;
  readonly takesValue: boolean;
  readonly values: readonly string[];
  /** The names to offer, which the script asks svc for. */
  readonly names: KnownNameKind | undefined;
  /** The value is a file: its path, or a reference, the path after an `@`. */
  readonly file: 'path' | 'reference' | undefined;
  readonly summary: string;
}

/** The second words of a group of commands. */
export function subcommandWords(group: string): readonly (readonly [word: string, summary: string])[] {
  return commandsIn([group]).flatMap(({ words: [, second], summary }) =>
    second === undefined ? [] : [[second, summary] as const],
  );
}

/** The words alone. */
export function wordNames(words: ReturnType<typeof topLevelWords>): string[] {
  return words.map(([word]) => word);
}

/** The first words that have subcommands, with summaries. */
export function groupWords(): ReturnType<typeof topLevelWords> {
  return topLevelWords().filter(([word]) => subcommandWords(word).length > 0);
}

/** True if a group is a command itself, with arguments in the place of a subcommand. */
export function isRunnableGroup(group: string): boolean {
  return allCommands.some(({ name }) => name === group);
}

/** The flags of a command that help lists, and --help. */
export function completableFlags({ listedFlags }: Command): CompletableFlag[] {
  const help: Flag = { name: 'help', short: 'h', takes: 'switch', group: 'Help', summary: 'Show this help' };
  return toCompletableFlags([...listedFlags, help]);
}

/** The flags that may come before a command. */
export function leadingFlags(): CompletableFlag[] {
  return toCompletableFlags(sharedFlags().filter(({ isHidden }) => !isHidden));
}

/** The long names of the flags that can be the first word. */
export function topLevelFlagNames(): string[] {
  return ['--help', '--version', ...leadingFlags().map(({ word }) => word)];
}

/** The names of flags, long and short, joined by spaces. */
export function flagNames(flags: readonly CompletableFlag[]): string {
  return flags.flatMap(flagWords).join(' ');
}

/** The command that completes the value of a flag before a command: it has all of them that complete anything. */
export const leadingFlagCommand = 'chat';

/** The forms of a flag as typed: `--model` and `-m`. */
export function flagWords({ word, short }: CompletableFlag): string[] {
  return short ? [word, `-${short}`] : [word];
}

/** The flags of a command that help does not list: a script accepts them and does not offer them. */
export function hiddenFlags({ flags }: Command): CompletableFlag[] {
  return toCompletableFlags(flags.filter(({ isHidden }) => isHidden));
}

const noValue = { takesValue: false, values: [], names: undefined, file: undefined } as const;

function toCompletableFlags(flags: readonly Flag[]): CompletableFlag[] {
  return flags.flatMap((flag) => {
    const shape = {
      takesValue: takesValue(flag),
      values: flag.choices ?? flag.offers ?? [],
      names: flag.completes,
      file: takesValue(flag) ? fileKind(flag) : undefined,
      summary: firstSentence(flag.summary),
    };
    return flagForms(flag).map((word, at) =>
      at === 0 ? { ...shape, word, short: flag.short } : { ...shape, ...noValue, word, short: undefined },
    );
  });
}

/**
 * The possible first arguments; undefined if all arguments are files. The name of a group is followed by one of its
 * subcommands.
 */
export function argumentWords({ words, argument }: Command): readonly string[] | undefined {
  if (argument?.isFile) return undefined;
  const named = words[0] === 'help' ? wordNames(topLevelWords()) : [];
  return [...new Set([...named, ...(argument?.choices ?? argument?.offers ?? [])])];
}

function fileKind({ value }: Flag): CompletableFlag['file'] {
  if (value === '<file>') return 'path';
  return value === '<json>' || value?.includes('@') ? 'reference' : undefined;
}

function firstSentence(summary: string): string {
  return summary.split(/[;(]/)[0]?.trim() ?? summary;
}
