import type { Command as Program } from 'commander';
import type { Command } from '../../command.ts';
import { type Flag, flagForms, flagTerm } from '../../flag.ts';
import type { Example } from '../../operations/operation.ts';
import { allCommands, commandsIn } from '../all-commands.ts';
import { commandTree, defineCommand } from '../command-tree.ts';
import { helpTopicNames } from '../help-command.ts';
import { type HelpSection, renderHelp } from './help-page.ts';

const MAX_SHORT_HELP_LINES = 24;
const MAX_SHORT_HELP_COLUMNS = 80;
// A longer page has the first clause of each summary.
const MAX_HELP_LINES = 120;

export const introduction =
  'Send feedback, chats, training jobs and traced calls to a service. Request bodies come from flags, files and stdin.';

const startExamples: readonly Example[] = [
  { args: 'chat --local "Hello"', why: 'ask the local service; needs no setup' },
  { args: 'auth login --base-url <url>', why: 'store credentials for a real service' },
  { args: 'doctor', why: 'show the settings and test the connection' },
];

// Listed in short help, in this order, after the flags that are required or common, unless an operation has `keyFlags`.
const usefulFlags = ['json', 'output', 'dry-run', 'profile', 'local'];

// The groups of flags that several commands share, by heading, with the topic that describes them.
export const sharedGroups = new Map([
  ['Body', 'bodies'],
  ['Batch', 'batch'],
  ['Output', 'output'],
  ['Connection', 'connection'],
]);

export interface HelpRequest {
  readonly words: readonly string[];
  readonly isFull: boolean;
}

/** The help of a command, of a group of commands, or of svc, wrapped to `columns`; `docs` is where the guides are. */
export function helpText({ words, isFull }: HelpRequest, columns: number, docs: string): string {
  const command = commandsIn(words).find((one) => one.words.length === words.length);
  const program = programOf(words, command);
  if (command && isFull) {
    const sections = fullHelp(command, program, columns, docs);
    const page = renderHelp(sections, columns);
    // In a narrow terminal the page may be longer: nothing is truncated.
    const standard = renderHelp(sections, Math.max(columns, MAX_SHORT_HELP_COLUMNS));
    if (standard.split('\n').length <= MAX_HELP_LINES) return page;
    const briefSections = sections.map((section) => ({ ...section, isBrief: true }));
    return renderHelp(briefSections, columns);
  }
  const shortColumns = Math.min(columns, MAX_SHORT_HELP_COLUMNS);
  if (command) return shortHelp(command, program, shortColumns, docs);
  if (words.length > 0) return renderHelp(groupHelp(commandsIn(words), program, shortColumns, docs), shortColumns);
  return renderHelp(isFull ? rootHelp(program, columns, docs) : rootShortHelp(program, columns, docs), columns);
}

export function programOf(words: readonly string[], chosen?: Command): Program {
  const program = findProgram(commandTree(), words);
  if (chosen) defineCommand(program, chosen);
  return program;
}

function findProgram(root: Program, words: readonly string[]): Program {
  return words.reduce((parent, word) => parent.commands.find((one) => one.name() === word) ?? parent, root);
}

export function commandSections(command: Command, program = programOf(command.words, command)): HelpSection[] {
  return [...argumentSections(command), ...flagSections(program, command)];
}

function argumentSections({ words, argument }: Command): HelpSection[] {
  const inner = commandsIn(words).filter((one) => one.words !== words);
  return [
    ...(inner.length > 0 ? [commandsSection(inner)] : []),
    ...(argument ? [{ heading: 'Arguments', entries: [[argument.name, argument.summary] as const] }] : []),
  ];
}

// Required and common flags come first, those before others that people use most; other groups keep their order.
function flagSections(
  program: Program,
  { operation }: Command,
  isListed = (_group: string): boolean => true,
): HelpSection[] {
  const help = program.createHelp();
  const options = help.visibleOptions(program).filter(({ helpGroupHeading = '' }) => isListed(helpGroupHeading));
  const key = operation?.keyFlags ?? [];
  const rank = (name: string): number => (key.includes(name) ? key.indexOf(name) : key.length);
  const first = ['Required', 'Common'].flatMap((group) =>
    options.filter((one) => one.helpGroupHeading === group).sort((one, other) => rank(one.name()) - rank(other.name())),
  );
  const groups = help.groupItems(first, options, ({ helpGroupHeading = '' }) => helpGroupHeading);
  return Array.from(groups, ([heading, group]) => ({
    heading: heading === 'Required' ? 'Required, as a flag or in the body' : heading,
    entries: group.map((one) => [help.optionTerm(one), one.description] as const),
  }));
}

function sharedSection({ listedFlags }: Command): HelpSection {
  const entries = Array.from(sharedGroups, ([group, topic]) => {
    const flags = listedFlags.filter((flag) => flag.group === group);
    const forms = flags.map((flag) =>
      flagTerm(flag)
        .replace(/[ []?[<=].*$/, '')
        .replace(', ', ' '),
    );
    return [`svc help ${topic}`, forms.join(' ')] as const;
  });
  return { heading: 'Shared flags', entries: entries.filter(([, names]) => names !== '') };
}

/** An example as typed, with the input that is piped into it. */
export function exampleLine({ args, stdin, from }: Example): string {
  if (from !== undefined) return `svc ${from} | svc ${args}`;
  return stdin === undefined ? `svc ${args}` : `printf '${stdin.replaceAll('\n', '\\n')}' | svc ${args}`;
}

function fullHelp(command: Command, program: Program, columns: number, docs: string): HelpSection[] {
  const topics = command.operation ? 'retries, svc help exit-codes' : 'exit-codes';
  return [
    { paragraphs: [`${command.summary}.`, ...(command.about ? [command.about] : [])] },
    usageSection(program),
    examplesSection(command.examples, columns),
    ...argumentSections(command),
    ...flagSections(program, command, (group) => !sharedGroups.has(group)),
    sharedSection(command),
    { paragraphs: [`See also: svc help ${topics}; man svc-${command.words.join('-')}.\nGuides: ${docs}`] },
  ];
}

// At most 24 lines: usage, up to two examples with every flag that they use, and the flags that people use most.
function shortHelp(
  { name, summary, listedFlags, examples: all, operation }: Command,
  program: Program,
  columns: number,
  docs: string,
): string {
  const named = (names: readonly string[]): Flag[] =>
    names.flatMap((one) => listedFlags.find((flag) => flag.name === one) ?? []);
  const inGroup = (group: string): Flag[] => listedFlags.filter((flag) => flag.group === group);
  const key = operation ? named(operation.keyFlags) : [...inGroup('Common'), ...named(usefulFlags)];
  const flags = [...new Set([...key, ...listedFlags])];
  const page = (examples: readonly Example[], more: readonly Flag[]): string => {
    const isNeeded = (flag: Flag): boolean => examples.some((one) => isUsedIn(one, flag));
    const shown = flags.filter((flag) => isNeeded(flag) || more.includes(flag));
    return renderHelp(
      [
        { paragraphs: [`${summary}.`] },
        usageSection(program),
        examplesSection(examples, columns),
        { heading: 'Flags', entries: shown.map((flag) => [flagTerm(flag), flag.summary]), isBrief: true },
        { paragraphs: [`svc ${name} --help lists all flags.\nGuides: ${docs}`] },
      ],
      columns,
    );
  };
  // At widths below 80 the page may be longer: nothing is truncated.
  const hasRoom = (text: string): boolean => text.split('\n').length - 1 <= MAX_SHORT_HELP_LINES;
  const two = all.slice(0, 2);
  const examples = hasRoom(page(two, key.slice(0, 3))) ? two : two.slice(0, 1);
  let more: readonly Flag[] = [];
  for (const flag of key) if (hasRoom(page(examples, [...more, flag]))) more = [...more, flag];
  return page(examples, more);
}

function isUsedIn({ args }: Example, flag: Flag): boolean {
  const forms = [...flagForms(flag), `-${flag.short}`];
  return args.split(/[\s=]+/).some((word) => forms.includes(word));
}

function groupHelp(commands: readonly Command[], program: Program, columns: number, docs: string): HelpSection[] {
  const examples = commands.flatMap((command) => command.examples.slice(0, 1)).slice(0, 3);
  return [
    { paragraphs: [`${program.summary()}.`] },
    usageSection(program),
    examplesSection(examples, columns),
    commandsSection(commands),
    { paragraphs: [`svc ${program.name()} <command> --help lists the flags of a command.\nGuides: ${docs}`] },
  ];
}

function rootHelp(program: Program, columns: number, docs: string): HelpSection[] {
  const programs = allCommands.map(({ words }) => findProgram(program, words));
  const groups = program.createHelp().groupItems(programs, programs, (one) => one.helpGroup());
  const nameOf = (one: Program): string => (one.parent === program ? '' : `${one.parent?.name()} `) + one.name();
  return [
    { paragraphs: [introduction] },
    usageSection(program),
    examplesSection(startExamples, columns),
    ...Array.from(groups, ([heading, group]) => ({
      heading,
      entries: group.map((one) => [nameOf(one), one.summary()] as const),
    })),
    {
      heading: 'Flags',
      entries: [
        ['-h, --help', 'Show help: -h the most useful flags, --help all of them'],
        ['-V, --version', 'Print the version; with --json also commit, Node and libraries'],
      ],
    },
    { heading: 'Topics', paragraphs: [`svc help <topic>: ${helpTopicNames.join(', ')}`] },
    { paragraphs: [`Guides: ${docs}`] },
  ];
}

function rootShortHelp(program: Program, columns: number, docs: string): HelpSection[] {
  return [
    usageSection(program),
    { heading: 'Commands', entries: program.commands.map((one) => [one.name(), one.summary().split(';')[0] ?? '']) },
    examplesSection(startExamples.slice(0, 2), columns),
    { paragraphs: [`svc --help lists all commands and topics. Guides: ${docs}`] },
  ];
}

function usageSection(program: Program): HelpSection {
  return { heading: 'Usage', code: [program.createHelp().commandUsage(program)] };
}

function examplesSection(examples: readonly Example[], columns: number): HelpSection {
  const width = Math.max(...examples.map((example) => exampleLine(example).length));
  const lines = examples.map((example) => `${exampleLine(example).padEnd(width)}  # ${example.why}`);
  const isWide = lines.every((line) => line.length <= columns - 2);
  const code = isWide ? lines : examples.flatMap((example) => [`# ${example.why}`, exampleLine(example)]);
  return { heading: 'Examples', code };
}

function commandsSection(commands: readonly Command[]): HelpSection {
  return { heading: 'Commands', entries: commands.map(({ name, summary }) => [`svc ${name}`, summary]) };
}
