import type { Command } from '../../command.ts';
import { flagName } from '../../fields/field.ts';
import { type Flag, flagForms } from '../../flag.ts';
import { type Example, flagTarget } from '../../operations/operation.ts';
import { commandsIn } from '../all-commands.ts';
import { usageTerm } from '../parse-command-line.ts';
import { type HelpEntry, type HelpSection, renderHelp } from './help-page.ts';

const MAX_SHORT_HELP_LINES = 24;
const MAX_SHORT_HELP_COLUMNS = 80;

// Listed in short help, in this order, after the flags that are required or common.
const usefulFlags = ['file', 'set', 'json', 'output', 'dry-run', 'profile', 'local'];

/** The whole help of a command, wrapped to `columns`. */
export function fullHelp(command: Command, columns: number): string {
  return renderHelp(
    [
      { paragraphs: [`${command.summary}.`, ...(command.about ? [command.about] : [])] },
      usageSection(command),
      examplesSection(command.examples, true),
      ...commandSections(command),
      learnMoreSection(command),
    ],
    columns,
  );
}

/** The sections of a command's help: its subcommands, arguments and flags, and the fields that accept null. */
export function commandSections(command: Command): HelpSection[] {
  const { argument } = command;
  const inner = commandsIn(command.words).filter((one) => one !== command);
  return [
    ...(inner.length > 0 ? [{ heading: 'Commands', entries: inner.map(commandEntry) }] : []),
    ...(argument ? [{ heading: 'Arguments', entries: [{ term: argument.name, summary: argument.summary }] }] : []),
    ...flagSections(command),
    ...nullSection(command),
  ];
}

/**
 * The help of a command in at most 24 lines of at most 80 characters: usage, up to two examples with every flag that they
 * use, and the most useful other flags.
 */
export function shortHelp(command: Command, columns: number): string {
  const flags = flagsByUse(command);
  const page = (examples: readonly Example[], hasReasons: boolean, more: readonly Flag[]): string => {
    const isNeeded = (flag: Flag): boolean => flag.group === 'Required' || examples.some((one) => isUsedIn(one, flag));
    const shown = flags.filter((flag) => isNeeded(flag) || more.includes(flag));
    const sections: readonly HelpSection[] = [
      { paragraphs: [`${command.summary}.`] },
      usageSection(command),
      examplesSection(examples, hasReasons),
      { heading: 'Flags', entries: shown.map(shortEntry) },
      { paragraphs: [`svc ${command.name} --help shows everything.`] },
    ];
    return renderHelp(sections, Math.min(columns, MAX_SHORT_HELP_COLUMNS));
  };
  const hasRoom = (text: string, lines = 0): boolean => text.split('\n').length - 1 + lines <= MAX_SHORT_HELP_LINES;
  const two = command.examples.slice(0, 2);
  // At widths below 80 the page may be longer: nothing is truncated.
  const [examples, hasReasons] = hasRoom(page(two, true, []), 3)
    ? [two, true]
    : [hasRoom(page(two, false, [])) ? two : two.slice(0, 1), false];
  let more: readonly Flag[] = [];
  for (const flag of flags) if (hasRoom(page(examples, hasReasons, [...more, flag]))) more = [...more, flag];
  return page(examples, hasReasons, more);
}

function isUsedIn({ args }: Example, flag: Flag): boolean {
  const forms = [...flagForms(flag), `-${flag.short}`];
  return args.split(/[\s=]+/).some((word) => forms.includes(word));
}

function flagsByUse({ listedFlags: listed }: Command): readonly Flag[] {
  const inGroup = (name: string): Flag[] => listed.filter(({ group }) => group === name);
  const useful = usefulFlags.flatMap((name) => listed.find((flag) => flag.name === name) ?? []);
  return [...new Set([...inGroup('Required'), ...inGroup('Common'), ...useful, ...listed])];
}

// The first clause of the summary: the rest is in the full help.
function shortEntry(flag: Flag): HelpEntry {
  return { term: flagTerm(flag), summary: flag.summary.split(/;| \(/)[0] ?? flag.summary };
}

/** The usage line of a command. */
export function usageSection({ words, argument, flags }: Command): HelpSection {
  const hasFlags = flags.length > 0;
  const parts = ['svc', ...words, hasFlags ? '[flags]' : '', argument ? usageTerm(argument) : ''];
  return { heading: 'Usage', code: [parts.filter(Boolean).join(' ')] };
}

/** Examples, each with the comment that says what it does. */
export function examplesSection(examples: readonly Example[], hasReasons: boolean): HelpSection {
  return {
    heading: 'Examples',
    code: examples.flatMap((example) => [...(hasReasons ? [`# ${example.why}`] : []), exampleLine(example)]),
  };
}

/** An example as typed, with the input that is piped into it. */
export function exampleLine({ args, stdin }: Example): string {
  return stdin === undefined ? `svc ${args}` : `printf '${stdin.replaceAll('\n', '\\n')}' | svc ${args}`;
}

/** A command as lists of commands show it. */
export function commandEntry({ name, summary }: Command): HelpEntry {
  return { term: `svc ${name}`, summary };
}

// Required and common flags come first; the other groups keep the order of their first flags.
function flagSections({ listedFlags }: Command): HelpSection[] {
  const groups = listedFlags.map(({ group }) => group);
  const first = ['Required', 'Common'].filter((group) => groups.includes(group));
  return Array.from(new Set([...first, ...groups]), (heading) => ({
    heading,
    entries: listedFlags
      .filter(({ group }) => group === heading)
      .map((flag) => ({ term: flagTerm(flag), summary: flag.summary })),
  }));
}

/** A flag as help names it: `-m, --model <text>`, `--[no-]echo`. */
export function flagTerm({ name, short, takes, value }: Flag): string {
  const long = takes === 'boolean' ? `--[no-]${name}` : takes === 'off' ? `--no-${name}` : `--${name}`;
  const placeholder = takes === 'boolean' || !value ? '' : takes === 'optional' ? `[=${value}]` : ` ${value}`;
  return `${short ? `-${short}, ` : ''}${long}${placeholder}`;
}

function nullSection({ operation }: Command): HelpSection[] {
  if (!operation) return [];
  const { fields } = flagTarget(operation);
  const names = Object.keys(fields).filter((name) => fields[name]?.nullable && !fields[name]?.isSecret);
  const flags = names.flatMap((name) => (fields[name]?.isReadOnly ? [] : [`--${flagName(name)}`]));
  if (flags.length === 0) return [];
  return [
    {
      heading: 'Null values',
      paragraphs: [`To send null for a field, write --set ${names[0]}:=null. These accept it: ${flags.join(', ')}.`],
    },
  ];
}

function learnMoreSection({ words, operation }: Command): HelpSection {
  const topics = operation ? 'bodies, batch, retries, exit-codes' : 'exit-codes, environment, profiles';
  return {
    heading: 'Learn more',
    paragraphs: [`svc help <topic>: ${topics}. Manual page: man svc-${words.join('-')}. Reference: docs/reference.md.`],
  };
}
