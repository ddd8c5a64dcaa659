import { isBodyFile } from '../body/body-flags.ts';
import { usageTerm } from '../command.ts';
import { type Failure, usageFailure } from '../errors.ts';
import { closestMatches } from '../fields/closest-match.ts';
import { redactUserInfo } from '../output/redaction.ts';
import { shellWord } from '../output/shell-quote.ts';
import { allCommands, commandsIn } from './all-commands.ts';
import { completeSuggestion, settingNamed } from './corrected-line.ts';
import { isToolName, nouns, otherToolsHint, sameVerbs, toolOf, verbs } from './other-tools.ts';
import type { PreparedCommandLine } from './prepare-command-line.ts';
import { synonymHint } from './unknown-flag.ts';

/** The failure of words that name no command; `detail` is what else they could have been, and are not. */
export function unknownCommand(line: PreparedCommandLine, words: readonly string[], detail = ''): Failure {
  const typed = removeWords(line.typed, words);
  const next = line.command || typed[0]?.startsWith('-') ? '' : (typed[0] ?? '');
  const group = words.slice(0, -1);
  const siblings = commandsIn(group).flatMap(({ words: path }) => path[group.length] ?? []);
  const name = ['svc', ...group].join(' ');
  const word = words.at(-1) ?? '';
  const named = siblings.filter((one) => verbs[one]?.split(' ').includes(word));
  const kin = group.length > 0 ? sameVerbs(word) : [];
  const near = [
    named,
    closestMatches(word, siblings),
    siblings.filter((one) => kin.some((verb) => verb === one || verbs[one]?.split(' ').includes(verb))),
  ].find((found) => found.length > 0);
  const nested = group.length > 0 ? [] : allCommands.filter(({ words: path }) => path.length > 1);
  const [nearNested = word] = closestMatches(
    word,
    nested.flatMap(({ words: path }) => path.at(-1) ?? []),
  );
  const inGroups = nested.filter(({ words: path }) => [word, nearNested].includes(path.at(-1) ?? ''));
  const meant = [...(near ?? []).map((one) => `${name} ${one}`), ...inGroups.map((one) => `svc ${one.name}`)]
    .slice(0, 3)
    .map(withArgument);
  const known = knownWord(words, next, typed);
  const rest = known?.rest ?? (known?.isNextUsed ? removeWords(typed, [next]) : typed);
  const otherwise =
    word === 'help'
      ? `run: ${name} --help`
      : group.length > 0
        ? `write one of: ${siblings.map((one) => withArgument(`${name} ${one}`)).join(', ')}`
        : 'run: svc --help';
  const hint =
    known?.hint ??
    (meant.length > 0 ? `did you mean: ${meant.join(', or ')}` : (unlistedWord(word, group) ?? otherwise));
  return usageFailure(
    `unknown command ${JSON.stringify(words.join(' '))}${detail}`,
    hint.replace(/(?<=^did you mean: |^leave out ".*": )svc [^,;]+$/, (one) => completeSuggestion(one, rest)),
  );
}

// Each of the words once.
function removeWords(typed: readonly string[], words: readonly string[]): string[] {
  const left = [...typed];
  for (const word of words) if (left.includes(word)) left.splice(left.indexOf(word), 1);
  return left;
}

interface KnownWord {
  readonly hint: string;
  /** The word after the unknown ones is part of the command that is meant. */
  readonly isNextUsed?: boolean;
  /** What goes with the command that is meant, if it is not what was typed after the unknown words. */
  readonly rest?: readonly string[];
}

// What the words mean in another tool; the name of a tool may come first.
function knownWord(words: readonly string[], next: string, typed: readonly string[]): KnownWord | undefined {
  const all = words.join(' ');
  if (isToolName(all)) {
    if (isToolName(next)) return { hint: `leave out ${JSON.stringify(`${all} ${next}`)}; run: svc --help` };
    const own = commandsIn([next]).length > 0 ? 'svc' : undefined;
    return {
      hint: `leave out ${JSON.stringify(all)}: ${own ?? otherToolsHint(next) ?? 'svc --help'}`,
      isNextUsed: !own,
    };
  }
  const path = /^(?:get|post|put|patch|delete)$/i.test(all) && /[/:]/.test(next) ? unlistedWord(next, []) : undefined;
  if (path) return { hint: path, isNextUsed: true };
  const flags = commandsIn(words.slice(0, -1)).find(({ words: path }) => path.length === words.length - 1)?.flags;
  // `config model gpt-4`, `profile model gpt-4`
  const [noun = '', setting = next] = words;
  if (nounOf(noun) === 'profile' && settingNamed(setting))
    return { hint: 'did you mean: svc profile set <name>', rest: [setting, ...typed.slice(setting === next ? 1 : 0)] };
  const both = next === '' ? undefined : otherToolsHint(`${all} ${next}`);
  const hint = both && synonymHint(both, flags);
  if (hint) return { hint, isNextUsed: true };
  // `log tail`: a word that means a command of the group.
  const own = words.length > 1 ? otherToolsHint(words.at(-1) ?? '') : undefined;
  const inGroup =
    (words.length > 1 ? (otherToolsHint(all) ?? otherToolsHint(`${words[0]} --${words.at(-1)}`)) : undefined) ??
    (own?.startsWith(`svc ${words[0]}`) && !own.includes(', ') ? own : undefined);
  if (inGroup) return hintOf(synonymHint(inGroup, flags));
  const [meant, isNextUsed = false] = nounAndVerb(words, next) ?? [];
  if (meant) return { hint: synonymHint(meant, flags) ?? meant, isNextUsed };
  const spellings = [all, all.toLowerCase(), all.toUpperCase(), `${all}s`, all.replace(/s$/, '')];
  const known = spellings.flatMap((one) => otherToolsHint(one) ?? [])[0];
  if (known) return hintOf(synonymHint(known));
  const tool = words.length === 1 ? toolOf(all) : undefined;
  return hintOf(tool && `svc has nothing like ${all} of ${tool}; run: svc --help`);
}

function hintOf(hint: string | undefined): KnownWord | undefined {
  return hint === undefined ? undefined : { hint };
}

// `config get`, `get profiles`, `list-jobs`, `train create-training-job`: the words name a group and, in another one, a command of it.
function nounAndVerb(
  words: readonly string[],
  next: string,
): readonly [command: string, isNextUsed: boolean] | undefined {
  const parts = [...words, ...(/^[a-z][\w-]*$/i.test(next) ? [next] : [])].flatMap((word) =>
    word.toLowerCase().split(/[-_.]/),
  );
  if (parts.length < 2) return undefined;
  const noun = parts.find((part) => nounOf(part));
  const group = noun && nounOf(noun);
  if (!group) return undefined;
  const isPlural = noun.endsWith('s') && noun !== 'settings';
  for (const part of parts.filter((one) => one !== noun).reverse()) {
    const verb = part === 'get' && isPlural ? 'list' : part;
    const known = otherToolsHint(`${group} ${verb}`);
    const isNextUsed = [noun, part].includes(next.toLowerCase());
    if (known) return [known, isNextUsed];
    const found = commandsIn([group]).find(({ words: path }) => {
      const last = path.at(-1) ?? '';
      return last === verb || verbs[last]?.split(' ').includes(verb);
    });
    if (found) return [withArgument(`svc ${found.name}`), isNextUsed];
    // `train view`: what the table has for another word of the same deed.
    const kin = sameVerbs(verb).flatMap((one) => otherToolsHint(`${group} ${one}`) ?? [])[0];
    if (kin) return [kin, isNextUsed];
  }
  return undefined;
}

function nounOf(word: string): string | undefined {
  return Object.keys(nouns).find((group) => nouns[group]?.split(' ').includes(word.replace(/s$/, '')));
}

// What a word is that no tool has for a command: a file, the path or the URL of an operation, a prompt.
function unlistedWord(word: string, group: readonly string[]): string | undefined {
  const ofShape =
    /^[\w.-]+$/.test(word) && otherToolsHint([...group, isFileName(word) ? '<file>' : '<name>'].join(' '));
  if (ofShape) return synonymHint(completeSuggestion(ofShape, [word]));
  if (group.length > 0) return undefined;
  if (/\s/.test(word)) return `write: svc chat ${shellWord(word)}`;
  const isHost = /^(?:[\w-]+(?:\.[\w-]+)*)?:\d+|^[\w-]+(?:\.[\w-]+)+\//.test(word);
  const scheme = /^(?:localhost|127\.|:)/.test(word) ? 'http' : 'https';
  const url = isHost ? `${scheme}://${word.replace(/^(?=:)/, '127.0.0.1')}` : word;
  const [, origin, path = ''] = /^(https?:\/\/[^/?#]+)?(.*)$/i.exec(url) ?? [];
  const steps = path.split(/[^\w-]+/).filter((step) => !/^(?:v\d+|create|)$/.test(step));
  const [first = ''] = steps;
  const served = allCommands.find(({ operation }) => steps.length > 0 && operation?.path.includes(steps.join('/')));
  if (origin) return `did you mean: svc ${served?.name ?? 'chat'} --base-url ${redactUserInfo(origin)}`;
  if (served) return `did you mean: svc ${served.name}`;
  if (first === word) return undefined;
  const known = commandsIn([first]).length > 0 ? `svc ${first}` : otherToolsHint(first);
  return known && synonymHint(known);
}

/** True for a name of a file with a body, lines or a table. */
export function isFileName(word: string): boolean {
  return isBodyFile(word) || /\.(?:jsonl|ndjson|csv|tsv)$/i.test(word);
}

// A command with the argument that it needs.
function withArgument(words: string): string {
  const argument = allCommands.find(({ name }) => `svc ${name}` === words)?.argument;
  return argument?.isRequired ? `${words} ${usageTerm(argument)}` : words;
}
