import type { Argument, Command } from '../command.ts';
import { type Flag, flagForms, type KnownNameKind } from '../flag.ts';
import type { Runtime } from '../runtime.ts';
import { allCommands, commandsIn, topLevelWords } from './all-commands.ts';
import { readFlags, takesNextWord } from './command-line.ts';
import { sharedFlags } from './shared-flags.ts';

/** A word that a shell offers, with its description. It selects those that begin with the typed word. */
type Offer = readonly [word: string, summary?: string];

interface Completions {
  /** The part of the typed word before a value: `--format=`. */
  readonly start?: string | undefined;
  readonly offers?: readonly Offer[];
  readonly names?: KnownNameKind | undefined;
  /** Offers also files: their paths, or references, which are paths after an `@`. */
  readonly files?: 'paths' | 'references' | undefined;
}

/** The meaning of the words before the one that is completed. */
interface Place {
  readonly path: readonly string[];
  /** The path may continue: another word of a command fits here. */
  readonly isPathOpen: boolean;
  readonly command: Command | undefined;
  readonly flags: readonly Flag[];
  /** The flag whose value comes next. */
  readonly awaiting: Flag | undefined;
  readonly isAfterDashes: boolean;
  readonly operands: readonly string[];
}

const help: Flag = { name: 'help', short: 'h', takes: 'switch', group: 'Help', summary: 'Show help' };
const version: Flag = { name: 'version', short: 'V', takes: 'switch', group: 'Help', summary: 'Print the version' };

/**
 * What `svc __complete <words>` prints, which the scripts in completions/ call with the words after `svc` up to the cursor: a
 * line with `words`, `paths` or `references` and the start of the last word, then a line for each offer, the word and its
 * description. The columns are separated by tabs. Opens no connection.
 */
export async function complete(runtime: Runtime): Promise<string> {
  const { start = '', offers = [], names, files = 'words' } = completionsOf(runtime.argv.slice(1));
  const known = names ? await (await import('./known-names.ts')).knownNames(names, runtime) : [];
  const lines = [...offers, ...known.map((name): Offer => [name])].map(([word, summary = '']) => [
    start + word,
    summary.split(/[;(]/)[0]?.trim(),
  ]);
  return [[files, start], ...lines].map((line) => `${line.join('\t')}\n`).join('');
}

function completionsOf(words: readonly string[]): Completions {
  const word = words.at(-1) ?? '';
  const { path, isPathOpen, command, flags, awaiting, isAfterDashes, operands } = placeAfter(words.slice(0, -1));
  if (awaiting) return valuesOf(awaiting);
  if (word.startsWith('-') && !isAfterDashes) {
    const { flag, value } = readFlags(word, flags).at(-1) ?? {};
    if (flag && value !== undefined) return { ...valuesOf(flag), start: word.slice(0, word.length - value.length) };
    if (command) return { offers: flagOffers([...flags, help]) };
    if (!isPathOpen) return {};
    return { offers: flagOffers(path.length === 0 ? [help, version, ...flags] : [help]) };
  }
  const subcommands = isPathOpen ? wordsAfter(path) : [];
  if (!command?.argument) return { offers: subcommands };
  const { completes, isFile } = command.argument;
  if (isFile) return { offers: subcommands, files: 'paths' };
  const first = argumentOffers(command, command.argument);
  const [operand = ''] = operands;
  if (operands.length === 0) return { offers: [...subcommands, ...first], names: completes };
  // `svc help feedback replace`
  return operands.length === 1 && first.some(([one]) => one === operand) ? { offers: wordsAfter([operand]) } : {};
}

function placeAfter(words: readonly string[]): Place {
  let path: readonly string[] = [];
  let isPathOpen = true;
  let command: Command | undefined;
  let flags: readonly Flag[] = sharedFlags();
  let awaiting: Flag | undefined;
  let isAfterDashes = false;
  const operands: string[] = [];
  for (const word of words) {
    const longer = [...path, word];
    if (awaiting) awaiting = undefined;
    else if (isAfterDashes) operands.push(word);
    else if (word === '--') isAfterDashes = true;
    else if (word.startsWith('-')) {
      const token = readFlags(word, flags).at(-1);
      if (token && takesNextWord(token)) awaiting = token.flag;
    } else if (isPathOpen && commandsIn(longer).length > 0) {
      path = longer;
      command = allCommands.find(({ name }) => name === path.join(' '));
      if (command) flags = command.flags;
    } else {
      operands.push(word);
      isPathOpen = false;
    }
  }
  return { path, isPathOpen, command, flags, awaiting, isAfterDashes, operands };
}

function wordsAfter(path: readonly string[]): readonly Offer[] {
  if (path.length === 0) return topLevelWords();
  return commandsIn(path).flatMap(({ words, summary }) => {
    const next = words[path.length];
    return next === undefined ? [] : [[next, summary] as const];
  });
}

// `batch` is both a command and a topic of help.
function argumentOffers({ words: [first] }: Command, { choices, offers }: Argument): Offer[] {
  const words = (choices ?? offers ?? []).map((word) => [word, ''] as const);
  return [...new Map([...words, ...(first === 'help' ? topLevelWords() : [])])];
}

function flagOffers(flags: readonly Flag[]): Offer[] {
  const listed = flags.filter(({ isHidden }) => !isHidden);
  return listed.flatMap((flag): Offer[] => {
    const { short, summary, offSummary = summary } = flag;
    const [form = '', off] = flagForms(flag);
    return [
      [form, summary],
      ...(short ? [[`-${short}`, summary] as const] : []),
      ...(off ? [[off, offSummary] as const] : []),
    ];
  });
}

function valuesOf({ choices, offers, completes, value }: Flag): Completions {
  const files = value === '<file>' ? 'paths' : value === '<json>' || value?.includes('@') ? 'references' : undefined;
  return { offers: (choices ?? offers ?? []).map((word) => [word]), names: completes, files };
}
