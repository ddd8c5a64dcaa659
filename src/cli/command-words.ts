import type { Command } from '../command.ts';
import { usageFailure } from '../errors.ts';
import { type Flag, flagForms } from '../flag.ts';
import { allCommands, commandsIn } from './all-commands.ts';
import { takesNextWord } from './normalize-arguments.ts';
import { sharedFlags } from './shared-flags.ts';

/** The words of a command line, split at its command. */
export interface CommandWords {
  /** The words that name a command or a group of commands; empty when there are none. */
  readonly words: readonly string[];
  readonly command: Command | undefined;
  /** Everything else: the shared flags before the command, then what comes after it. */
  readonly rest: readonly string[];
  /** A flag before the command that asks for text. */
  readonly asksFor?: '-h' | '--help' | '--version';
}

/**
 * Finds the command: the first words that are not flags. Shared flags may come before it. Throws usage, with the
 * corrected line, for a flag that belongs after the command.
 */
export function splitAtCommand(argv: readonly string[]): CommandWords {
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
    const flags = sharedFlags();
    if (!isNamedBy(word, flags)) throw misplacedFlag(argv, at);
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

function isNamedBy(word: string, flags: readonly Flag[]): boolean {
  const name = word.startsWith('--') ? (word.split('=')[0] ?? '') : word.slice(0, 2);
  return flags.some((flag) => flagForms(flag).includes(name) || (flag.short && name === `-${flag.short}`));
}

function misplacedFlag(argv: readonly string[], at: number): Error {
  const word = argv[at] ?? '';
  const name = word.split('=')[0] ?? '';
  const unknown = usageFailure(`unknown flag "${name}"`, 'run: svc --help');
  for (const candidate of allCommands.filter(({ flags }) => isNamedBy(word, flags))) {
    const width = takesNextWord(word, candidate.flags) ? 2 : 1;
    const after = argv.slice(at + width);
    if (findCommand(after) !== candidate) continue;
    const moved = [...after, ...argv.slice(at, at + width)];
    return usageFailure(
      `${name} is a flag of svc ${candidate.name} and belongs after it`,
      `write: svc ${[...argv.slice(0, at), ...moved].map(quoteForShell).join(' ')}`,
    );
  }
  return unknown;
}

function quoteForShell(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
