import type { Command } from '../command.ts';
import { usageFailure } from '../errors.ts';
import type { Flag } from '../flag.ts';
import { allCommands, commandsIn } from './all-commands.ts';
import { isNamedBy, rejectSecretArgument, takesNextWord } from './normalize-arguments.ts';
import { sharedFlags } from './shared-flags.ts';

/** The words of a command line, split at its command. */
export interface CommandWords {
  /** The words that name a command or a group of commands; empty when there are none. */
  readonly words: readonly string[];
  readonly command: Command | undefined;
  /** Everything else: the shared flags before the command, then the words after it. */
  readonly rest: readonly string[];
  /** A flag before the command that requests text. */
  readonly asksFor?: '-h' | '--help' | '--version';
}

/**
 * Finds the command: the first words that are not flags. Shared flags may come before it. Throws usage, with the
 * corrected line, for a flag that belongs after the command.
 */
export async function splitAtCommand(argv: readonly string[]): Promise<CommandWords> {
  const split = splitWords(argv, sharedFlags());
  if (typeof split === 'number') throw await misplacedFlag(argv, split);
  return split;
}

// Only these flags may come before the command; returns the index of the first other one.
function splitWords(argv: readonly string[], flags: readonly Flag[]): CommandWords | number {
  const words: string[] = [];
  const leading: string[] = [];
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] ?? '';
    if (word === '-h' || word === '--help')
      return { words, command: undefined, rest: argv.slice(at + 1), asksFor: word };
    if (word === '-V' || word === '--version') return { words, command: undefined, rest: [], asksFor: '--version' };
    if (!word.startsWith('-')) {
      const found = findCommand([...words, ...argv.slice(at)]);
      if (found) {
        const rest = [...leading, ...argv.slice(at + found.words.length - words.length)];
        return { words: found.words, command: found, rest };
      }
      words.push(word);
      if (commandsIn(words).length > 0) continue;
      return { words, command: undefined, rest: [...leading, ...argv.slice(at + 1)] };
    }
    if (!isNamedBy(word, flags)) return at;
    leading.push(word);
    if (!takesNextWord(word, flags) || at + 1 === argv.length) continue;
    at += 1;
    leading.push(argv[at] ?? '');
  }
  return { words, command: undefined, rest: leading };
}

// Of several commands that match, the one with the most words: `train log` is not `train` with a file.
function findCommand(words: readonly string[]): Command | undefined {
  return allCommands
    .filter((command) => command.words.every((word, at) => words[at] === word))
    .sort((left, right) => right.words.length - left.words.length)[0];
}

async function misplacedFlag(argv: readonly string[], at: number): Promise<Error> {
  const word = argv[at] ?? '';
  const name = word.split('=')[0] ?? '';
  const end = argv.indexOf('--');
  for (const one of end < 0 ? argv : argv.slice(0, end)) rejectSecretArgument(one, []);
  for (const candidate of allCommands.filter(({ flags }) => isNamedBy(word, flags))) {
    const split = splitWords(argv, [...candidate.flags, ...sharedFlags()]);
    if (typeof split === 'number' || split.command !== candidate) continue;
    const { correctedLineHint } = await import('./corrected-line.ts');
    return usageFailure(
      `${name} is a flag of svc ${candidate.name} and belongs after it`,
      correctedLineHint(candidate, split.rest),
    );
  }
  return usageFailure(`unknown flag "${name}"`, 'run: svc --help');
}
