import { type Flag, flagForms, type KnownNameKind } from '../flag.ts';
import type { Runtime } from '../runtime.ts';
import { commandsIn, sharedFlags, topLevelWords } from './all-commands.ts';
import { prepareCommandLine, readFlags, takesNextWord } from './prepare-command-line.ts';

// The shell selects those that begin with the typed word.
type Offer = readonly [word: string, summary: string];

interface Completions {
  /** The part of the typed word before a value: `--format=`. */
  readonly start?: string | undefined;
  readonly offers?: readonly Offer[];
  readonly names?: KnownNameKind | undefined;
  /** Offers also files: their paths, or references, which are paths after an `@`. */
  readonly files?: 'paths' | 'references' | undefined;
}

const help: Flag = { name: 'help', short: 'h', takes: 'switch', group: 'Help', summary: 'Show help' };
const version: Flag = { name: 'version', short: 'V', takes: 'switch', group: 'Help', summary: 'Print the version' };

/** What `svc __complete <words>` prints for completions/: `words`, `paths` or `references`, then the offers, in columns of tabs. */
export async function complete(runtime: Runtime): Promise<string> {
  const { start = '', offers = [], names, files = 'words' } = completionsOf(runtime.argv.slice(1));
  const known = names ? await (await import('./known-names.ts')).knownNames(names, runtime) : [];
  const lines = [...offers, ...known.map((name): Offer => [name, ''])].map(([word, summary]) => [
    start + word,
    summary.split(/[;(]/)[0]?.trim(),
  ]);
  return [[files, start], ...lines].map((line) => `${line.join('\t')}\n`).join('');
}

function completionsOf(words: readonly string[]): Completions {
  const word = words.at(-1) ?? '';
  const { words: path, command, tokens, literal } = prepareCommandLine(words.slice(0, -1));
  const operands = [...tokens.flatMap(({ form, value = '' }) => (form === undefined ? value : [])), ...(literal ?? [])];
  const last = tokens.at(-1);
  if (last?.flag && takesNextWord(last)) return valuesOf(last.flag);
  // Another word of a command fits here.
  const isPathOpen = !literal && tokens.every(({ flag }) => flag) && commandsIn(path).length > 0;
  if (word.startsWith('-') && !literal) {
    const flags = command?.flags ?? sharedFlags();
    const { flag, value } = readFlags(word, flags).at(-1) ?? {};
    if (flag && value !== undefined) return { ...valuesOf(flag), start: word.slice(0, word.length - value.length) };
    if (command) return { offers: flagOffers([...flags, help]) };
    if (!isPathOpen) return {};
    return { offers: flagOffers(path.length === 0 ? [help, version, ...flags] : [help]) };
  }
  const subcommands = isPathOpen ? wordsAfter(path) : [];
  if (!command?.argument) return { offers: subcommands };
  const { choices, offers, completes, isFile } = command.argument;
  if (isFile) return { offers: subcommands, files: 'paths' };
  const [operand] = operands;
  const first = (choices ?? offers ?? []).map((one): Offer => [one, '']);
  if (command.name === 'help') first.push(...topLevelWords());
  // `batch` is both a command and a topic of help.
  if (operand === undefined) return { offers: [...subcommands, ...new Map(first)], names: completes };
  // `svc help feedback replace`
  return operands.length === 1 && first.some(([one]) => one === operand) ? { offers: wordsAfter([operand]) } : {};
}

function wordsAfter(path: readonly string[]): readonly Offer[] {
  if (path.length === 0) return topLevelWords();
  return commandsIn(path).flatMap(({ words, summary }) => {
    const next = words[path.length];
    return next === undefined ? [] : [[next, summary] as const];
  });
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
  return { offers: (choices ?? offers ?? []).map((word) => [word, '']), names: completes, files };
}
