import { allCommands } from '../all-commands.ts';
import {
  argumentWords,
  type CompletableFlag,
  completableFlags,
  isRunnableGroup,
  subcommandWords,
  topLevelWords,
} from './completion-words.ts';

/** The functions of the bash script that look up the words of a command. They set variables of their caller. */
export function bashLookupFunctions(): string {
  return [
    ...lookupFunction('_svc_second', subcommandCases()),
    ...lookupFunction('_svc_command', allCommands.flatMap(commandCase)),
    ...lookupFunction('_svc_choices', choiceCases()),
  ].join('\n');
}

/** Words without spaces, joined by spaces. */
export function joinWords(words: readonly (readonly [word: string, summary: string])[]): string {
  return words.map(([word]) => word).join(' ');
}

function lookupFunction(name: string, cases: readonly string[]): string[] {
  return [`${name}() {`, '  case $1 in', ...cases.map((line) => `    ${line}`), '  esac', '}'];
}

function subcommandCases(): string[] {
  const groups = topLevelWords().filter(([word]) => subcommandWords(word).length > 0);
  const cases = groups.map(
    ([word]) => `${word}) second="${joinWords(subcommandWords(word))}"${isRunnableGroup(word) ? ' own=yes' : ''} ;;`,
  );
  return [...cases, '*) second="" ;;'];
}

function commandCase(command: (typeof allCommands)[number]): string[] {
  const flags = completableFlags(command);
  const valueFlags = flags.filter(({ takesValue }) => takesValue);
  const variables = {
    flags: flagNames(flags),
    valued: flagNames(valueFlags),
    paths: flagNames(valueFlags.filter(({ file }) => file === 'path')),
    references: flagNames(valueFlags.filter(({ file }) => file === 'reference')),
    arguments: command.argument?.completes
      ? `<${command.argument.completes}>`
      : (argumentWords(command)?.join(' ') ?? '<files>'),
  };
  return [
    `"${command.words.join(' ')}")`,
    ...Object.entries(variables).flatMap(([name, value]) => (value === '' ? [] : [`  ${name}="${value}"`])),
    '  ;;',
  ];
}

function choiceCases(): string[] {
  const flagsByAction = new Map<string, string[]>();
  for (const command of allCommands) {
    for (const flag of completableFlags(command)) {
      if (flag.values.length === 0 && !flag.names) continue;
      const action = flag.names ? `_svc_names ${flag.names}` : `choices="${flag.values.join(' ')}"`;
      const patterns = flagNames([flag])
        .split(' ')
        .map((name) => `"${command.words.join(' ')} ${name}"`);
      flagsByAction.set(action, [...(flagsByAction.get(action) ?? []), ...patterns]);
    }
  }
  return [...flagsByAction].map(([action, found]) => `${found.join(' | ')}) ${action} ;;`);
}

function flagNames(flags: readonly CompletableFlag[]): string {
  return flags.flatMap(({ word, short }) => [word, ...(short ? [`-${short}`] : [])]).join(' ');
}
