import type { Help, Command as Program } from 'commander';
import type { Command } from '../../command.ts';
import { flagName } from '../../fields/field.ts';
import { type Flag, flagForms, flagTerm } from '../../flag.ts';
import { type Example, flagTarget } from '../../operations/operation.ts';
import { allCommands, commandsIn } from '../all-commands.ts';
import { commandTree, type HelpRequest } from '../parse-command-line.ts';
import { helpTopicNames } from '../tool-commands.ts';
import { type HelpSection, renderHelp } from './help-page.ts';

const MAX_SHORT_HELP_LINES = 24;
const MAX_SHORT_HELP_COLUMNS = 80;

/** The description of svc in two sentences. */
export const introduction =
  'Send feedback, chats, training jobs and traced calls to a service. Request bodies come from flags, files and stdin.';

const startExamples: readonly (readonly [command: string, why: string])[] = [
  ['svc chat --local "Hello"', 'ask the local service; needs no setup'],
  ['svc auth login --base-url <url>', 'store credentials for a real service'],
  ['svc doctor', 'show the settings and test the connection'],
];

// Listed in short help, in this order, after the flags that are required or common.
const usefulFlags = ['file', 'set', 'json', 'output', 'dry-run', 'profile', 'local'];

/** The help of a command, of a group of commands, or of svc, wrapped to `columns`. */
export function helpText({ words, isFull }: HelpRequest, columns: number): string {
  const command = commandsIn(words).find((one) => one.words.length === words.length);
  const program = programOf(words, command);
  const isNarrow = words.length > 0 && !(command && isFull);
  const help = createHelp(program, isNarrow ? Math.min(columns, MAX_SHORT_HELP_COLUMNS) : columns);
  if (command) return isFull ? renderHelp(fullHelp(command, program, help), help) : shortHelp(command, program, help);
  if (words.length > 0) return renderHelp(groupHelp(commandsIn(words), program, help), help);
  return renderHelp(isFull ? rootHelp(program, help) : rootShortHelp(program, help), help);
}

/** Help of commander that wraps to `columns`. */
export function createHelp(program: Program, columns: number): Help {
  return program.configureHelp({ helpWidth: columns, minWidthToWrap: 1 }).createHelp();
}

/** The node of the tree of commands; `chosen` gets its flags. */
export function programOf(words: readonly string[], chosen?: Command): Program {
  return findProgram(commandTree(allCommands, chosen), words);
}

function findProgram(root: Program, words: readonly string[]): Program {
  return words.reduce((parent, word) => parent.commands.find((one) => one.name() === word) ?? parent, root);
}

/** The sections of a command's help: its subcommands, arguments and flags, and the fields that accept null. */
export function commandSections(command: Command, program = programOf(command.words, command)): HelpSection[] {
  const help = program.createHelp();
  const options = help.visibleOptions(program);
  // Required and common flags come first; the other groups keep the order of their first flags.
  const first = ['Required', 'Common'].flatMap((group) => options.filter((one) => one.helpGroupHeading === group));
  const groups = help.groupItems(first, options, ({ helpGroupHeading = '' }) => helpGroupHeading);
  const inner = commandsIn(command.words).filter((one) => one !== command);
  const args = help.visibleArguments(program);
  return [
    ...(inner.length > 0 ? [commandsSection('Commands', inner)] : []),
    ...(args.length > 0
      ? [
          entriesSection(
            'Arguments',
            args.map((one) => [one.name(), one.description]),
          ),
        ]
      : []),
    ...Array.from(groups, ([heading, group]) =>
      entriesSection(
        heading,
        group.map((one) => [help.optionTerm(one), one.description]),
      ),
    ),
    ...nullSection(command),
  ];
}

/** An example as typed, with the input that is piped into it. */
export function exampleLine({ args, stdin }: Example): string {
  return stdin === undefined ? `svc ${args}` : `printf '${stdin.replaceAll('\n', '\\n')}' | svc ${args}`;
}

function fullHelp(command: Command, program: Program, help: Help): HelpSection[] {
  const topics = command.operation ? 'bodies, batch, retries, exit-codes' : 'exit-codes, environment, profiles';
  const pages = `Manual page: man svc-${command.words.join('-')}. Reference: docs/reference.md.`;
  return [
    { paragraphs: [`${command.summary}.`, ...(command.about ? [command.about] : [])] },
    usageSection(program, help),
    examplesSection(command.examples, true),
    ...commandSections(command, program),
    { heading: 'Learn more', paragraphs: [`svc help <topic>: ${topics}. ${pages}`] },
  ];
}

// At most 24 lines: usage, up to two examples with every flag that they use, and the most useful other flags.
function shortHelp(command: Command, program: Program, help: Help): string {
  const { listedFlags: listed } = command;
  const inGroup = (name: string): Flag[] => listed.filter(({ group }) => group === name);
  const useful = usefulFlags.flatMap((name) => listed.find((flag) => flag.name === name) ?? []);
  const flags = [...new Set([...inGroup('Required'), ...inGroup('Common'), ...useful, ...listed])];
  const page = (examples: readonly Example[], hasReasons: boolean, more: readonly Flag[]): string => {
    const isNeeded = (flag: Flag): boolean => flag.group === 'Required' || examples.some((one) => isUsedIn(one, flag));
    const shown = flags.filter((flag) => isNeeded(flag) || more.includes(flag));
    return renderHelp(
      [
        { paragraphs: [`${command.summary}.`] },
        usageSection(program, help),
        examplesSection(examples, hasReasons),
        // The first clause of the summary: the rest is in the full help.
        entriesSection(
          'Flags',
          shown.map((flag) => [flagTerm(flag), flag.summary.split(/;| \(/)[0] ?? '']),
        ),
        { paragraphs: [`svc ${command.name} --help shows everything.`] },
      ],
      help,
    );
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

function groupHelp(commands: readonly Command[], program: Program, help: Help): HelpSection[] {
  const examples = commands.flatMap((command) => command.examples.slice(0, 1)).slice(0, 3);
  return [
    { paragraphs: [`${program.summary()}.`] },
    usageSection(program, help),
    examplesSection(examples, true),
    commandsSection('Commands', commands),
    { paragraphs: [`svc ${program.name()} <command> --help shows the flags of a command.`] },
  ];
}

function rootHelp(program: Program, help: Help): HelpSection[] {
  const programs = allCommands.map(({ words }) => findProgram(program, words));
  const groups = help.groupItems(programs, programs, (one) => one.helpGroup());
  const nameOf = (one: Program): string => (one.parent === program ? '' : `${one.parent?.name()} `) + one.name();
  return [
    { paragraphs: [introduction] },
    usageSection(program, help),
    startSection(startExamples, help),
    ...Array.from(groups, ([heading, group]) =>
      entriesSection(
        heading,
        group.map((one) => [nameOf(one), one.summary()]),
      ),
    ),
    entriesSection('Flags', [
      ['-h, --help', 'Show help: -h the most useful flags, --help all of them'],
      ['-V, --version', 'Print the version; with --json also commit, Node and libraries'],
    ]),
    { heading: 'Topics', paragraphs: [`svc help <topic>: ${helpTopicNames.join(', ')}`] },
  ];
}

function rootShortHelp(program: Program, help: Help): HelpSection[] {
  return [
    usageSection(program, help),
    entriesSection(
      'Commands',
      program.commands.map((one) => [one.name(), one.summary().split(';')[0] ?? '']),
    ),
    startSection(startExamples.slice(0, 2), help),
    { paragraphs: ['svc --help lists all commands and topics.'] },
  ];
}

// Comments are beside the commands if there is room for them.
function startSection(examples: typeof startExamples, { helpWidth = 0 }: Help): HelpSection {
  const width = Math.max(...examples.map(([command]) => command.length));
  const lines = examples.map(([command, why]) => `${command.padEnd(width)}  # ${why}`);
  const isWide = lines.every((line) => line.length <= helpWidth - 2);
  return { heading: 'Examples', code: isWide ? lines : examples.flatMap(([command, why]) => [`# ${why}`, command]) };
}

function usageSection(program: Program, help: Help): HelpSection {
  return { heading: 'Usage', code: [help.commandUsage(program)] };
}

function examplesSection(examples: readonly Example[], hasReasons: boolean): HelpSection {
  return {
    heading: 'Examples',
    code: examples.flatMap((example) => [...(hasReasons ? [`# ${example.why}`] : []), exampleLine(example)]),
  };
}

function commandsSection(heading: string, commands: readonly Command[]): HelpSection {
  return entriesSection(
    heading,
    commands.map(({ name, summary }) => [`svc ${name}`, summary]),
  );
}

function entriesSection(heading: string, entries: readonly (readonly [term: string, summary: string])[]): HelpSection {
  return { heading, entries: entries.map(([term, summary]) => ({ term, summary })) };
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
