import { commands } from './commands.ts';
import {
  argumentWords,
  type CompletedFlag,
  completedFlags,
  firstWords,
  isCommand,
  secondWords,
} from './completion-words.ts';

/** The functions of the bash script that look up what a command takes. They set variables of their caller. */
export function bashTables(): string {
  return [
    ...lookup('_svc_second', secondCases()),
    ...lookup('_svc_command', commands.flatMap(commandCase)),
    ...lookup('_svc_choices', choiceCases()),
  ].join('\n');
}

/** Words that have no blanks in them, as one word. */
export function joined(words: readonly (readonly [word: string, summary: string])[]): string {
  return words.map(([word]) => word).join(' ');
}

function lookup(name: string, cases: readonly string[]): string[] {
  return [`${name}() {`, '  case $1 in', ...cases.map((line) => `    ${line}`), '  esac', '}'];
}

function secondCases(): string[] {
  const groups = firstWords().filter(([word]) => secondWords(word).length > 0);
  const found = groups.map(
    ([word]) => `${word}) second="${joined(secondWords(word))}"${isCommand(word) ? ' own=yes' : ''} ;;`,
  );
  return [...found, '*) second="" ;;'];
}

function commandCase(command: (typeof commands)[number]): string[] {
  const flags = completedFlags(command);
  const taking = flags.filter(({ takesValue }) => takesValue);
  const variables = {
    flags: names(flags),
    valued: names(taking),
    paths: names(taking.filter(({ file }) => file === 'path')),
    references: names(taking.filter(({ file }) => file === 'reference')),
    arguments: argumentWords(command)?.join(' ') ?? '<files>',
  };
  return [
    `"${command.words.join(' ')}")`,
    ...Object.entries(variables).flatMap(([name, value]) => (value === '' ? [] : [`  ${name}="${value}"`])),
    '  ;;',
  ];
}

function choiceCases(): string[] {
  const places = new Map<string, string[]>();
  for (const command of commands) {
    for (const flag of completedFlags(command).filter(({ values }) => values.length > 0)) {
      const words = flag.values.join(' ');
      const found = names([flag])
        .split(' ')
        .map((name) => `"${command.words.join(' ')} ${name}"`);
      places.set(words, [...(places.get(words) ?? []), ...found]);
    }
  }
  return [...places].map(([words, found]) => `${found.join(' | ')}) choices="${words}" ;;`);
}

function names(flags: readonly CompletedFlag[]): string {
  return flags.flatMap(({ word, short }) => [word, ...(short ? [`-${short}`] : [])]).join(' ');
}
