import { readFileSync } from 'node:fs';
import { allCommands } from '../src/cli/all-commands.ts';
import type { HelpSection } from '../src/cli/docs/help-page.ts';
import { commandSections, exampleLine, introduction } from '../src/cli/docs/help-text.ts';
import { environmentVariables, helpTopics } from '../src/cli/docs/help-topics.ts';
import { type Command, runsChild, usageTerm } from '../src/command.ts';
import { childExitCodes, exitCodes } from '../src/errors.ts';
import { version } from '../src/version.ts';

/** The manual pages, by file name: `svc.1`, and one for each command, such as `svc-chat.1`. */
export const manPages: readonly { readonly file: string; readonly text: () => string }[] = [
  { file: 'svc.1', text: rootPage },
  ...allCommands.map((command) => ({ file: `${pageName(command)}.1`, text: () => commandPage(command) })),
];

function pageName({ words }: Command): string {
  return ['svc', ...words].join('-');
}

function rootPage(): string {
  return [
    ...head('svc', 'command-line client for feedback, call tracing, chat completions and training jobs'),
    ...section('SYNOPSIS', ['.B svc', '.I command', '[flags]']),
    ...section('DESCRIPTION', [escapeText(introduction)]),
    ...section(
      'COMMANDS',
      allCommands.flatMap((command) => tagParagraph(`\\fBsvc ${escapeText(command.name)}\\fR`, command.summary)),
    ),
    ...Object.entries(helpTopics).flatMap(([name, sections]) =>
      name === 'exit-codes' || name === 'environment'
        ? []
        : section(name.toUpperCase().replaceAll('-', ' '), sections().flatMap(helpSection)),
    ),
    ...exitStatus(),
    ...section(
      'ENVIRONMENT',
      environmentVariables.flatMap(([name, purpose]) => tagParagraph(`\\fB${escapeText(name)}\\fR`, purpose)),
    ),
    ...seeAlso(allCommands.map(pageName)),
  ].join('\n');
}

function commandPage(command: Command): string {
  const { name, summary, about, examples } = command;
  return [
    ...head(pageName(command), summary),
    ...section('SYNOPSIS', [`.B svc ${escapeText(name)}`, ...synopsis(command)]),
    ...section('DESCRIPTION', [`${escapeText(summary)}.`, ...(about ? ['.PP', escapeText(about)] : [])]),
    ...section(
      'EXAMPLES',
      examples.flatMap((example) => [`${escapeText(example.why)}:`, '.PP', ...code([exampleLine(example)])]),
    ),
    ...section('OPTIONS', commandSections(command).flatMap(helpSection)),
    ...(runsChild(command) ? childExitStatus(command) : exitStatus(exitCodesOf(command))),
    ...seeAlso(['svc']),
  ].join('\n');
}

function synopsis({ argument, flags }: Command): string[] {
  return [
    ...(flags.length > 0 ? ['[flags]'] : []),
    ...(argument ? [`\\fI${escapeText(usageTerm(argument))}\\fR`] : []),
  ];
}

function head(name: string, summary: string): string[] {
  return [
    '.\\" Generated from the definitions by npm run generate.',
    `.TH ${escapeText(name.toUpperCase())} 1 "${released}" "svc ${version}" "svc manual"`,
    '.nh',
    '.ad l',
    '.SH NAME',
    `${escapeText(name)} \\- ${escapeText(summary)}`,
  ];
}

// The date of the release, so that a page does not change by being generated again.
const released = readFileSync(new URL('../CHANGELOG.md', import.meta.url), 'utf8')
  .split('\n')
  .find((line) => line.startsWith(`## ${version} (`))
  ?.slice(-11, -1);

function section(title: string, lines: readonly string[]): string[] {
  // A heading begins a paragraph by itself.
  return [`.SH ${title}`, ...lines].filter(
    (line, at, all) => line !== '.PP' || !(all[at - 1]?.startsWith('.SH') || (all[at + 1] ?? '.SH').startsWith('.S')),
  );
}

function helpSection({ heading, paragraphs = [], entries = [], code: lines = [] }: HelpSection): string[] {
  return [
    ...(heading ? [`.SS ${escapeText(heading)}`] : []),
    ...paragraphs.flatMap((text, at) => [...(at > 0 || !heading ? ['.PP'] : []), escapeText(text)]),
    ...entries.flatMap(([term, summary]) => tagParagraph(`\\fB${escapeText(term)}\\fR`, summary)),
    ...(lines.length > 0 ? code(lines) : []),
  ];
}

function tagParagraph(term: string, text: string): string[] {
  return ['.TP', term, escapeText(text)];
}

function code(lines: readonly string[]): string[] {
  return ['.RS 4', '.nf', ...lines.map(escapeText), '.fi', '.RE', '.PP'];
}

// A command that sends nothing ends with these, and with its own.
const localCodes = ['done', 'bug', 'usage', 'invalid_response', 'local_file', 'safety_check'];
const signalCodes = ['hangup', 'interrupted', 'terminated'];
const ownCodes: { readonly [name: string]: string } = {
  'auth status': 'credentials',
  'train lint': 'body',
  'batch merge': 'partly_failed',
};

function exitCodesOf({ name, operation }: Command): readonly string[] {
  if (operation || ['auth login', 'call flush', 'doctor'].includes(name)) return Object.keys(exitCodes);
  return [...localCodes, ownCodes[name] ?? '', ...signalCodes];
}

function childExitStatus({ flags }: Command): string[] {
  return section('EXIT STATUS', [
    escapeText('svc exits with the exit code of the command, or ends by its signal. If the command did not run:'),
    ...tagParagraph('\\fB2\\fR', 'The command line is invalid.'),
    ...Object.values(childExitCodes).flatMap(({ code, meaning }) => tagParagraph(`\\fB${code}\\fR`, `${meaning}.`)),
    ...(flags.some((flag) => flag.name === 'require')
      ? [
          '.PP',
          escapeText('With --require, an unconfirmed record ends svc with the exit code of the request; see svc(1).'),
        ]
      : []),
  ]);
}

function exitStatus(names: readonly string[] = Object.keys(exitCodes)): string[] {
  const rows = Object.entries(exitCodes).flatMap(([name, row]) => (names.includes(name) ? [row] : []));
  return section(
    'EXIT STATUS',
    rows.flatMap(({ code: exit, meaning, retry }) =>
      tagParagraph(`\\fB${exit}\\fR`, retry ? `${meaning}. Run again: ${retry}.` : `${meaning}.`),
    ),
  );
}

function seeAlso(names: readonly string[]): string[] {
  return [...section('SEE ALSO', [names.map((name) => `\\fB${escapeText(name)}\\fR(1)`).join(', ')]), ''];
}

// A line that starts with a dot or a quote would be a request; ASCII signs stay what they are in every output.
function escapeText(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll("'", '\\(aq')
    .replaceAll('`', '\\(ga')
    .replaceAll('^', '\\(ha')
    .replaceAll('~', '\\(ti')
    .replace(/^\./, '\\&.');
}
