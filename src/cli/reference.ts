import { exitCodes } from '../errors.ts';
import type { Flag } from '../fields/flag.ts';
import { operations } from '../operations/index.ts';
import type { Operation } from '../operations/operation.ts';
import { simulated, unkept } from '../service/model/simulated.ts';
import type { Argument, Command } from './command.ts';
import { commands } from './commands.ts';
import { exampleLine } from './help.ts';
import { table } from './markdown.ts';
import { fieldTable } from './reference-fields.ts';
import { environment } from './topics.ts';

/** The reference documentation, as Markdown: every command, flag, member, exit code and variable. */
export function reference(): string {
  return [
    '# svc reference',
    'Generated from the definitions by `npm run generate`; what `svc help` shows comes from the same place.',
    `## Commands\n\n${commands.map(({ words }) => `- [svc ${words.join(' ')}](#svc-${words.join('-')})`).join('\n')}`,
    ...commands.map(commandSection),
    `## Exit codes\n\n${table(
      ['exit', 'meaning', 'run again?'],
      Object.values(exitCodes).map(({ code, meaning, again }) => [String(code), meaning, again]),
    )}`,
    `## Environment\n\nAn empty variable counts as unset.\n\n${table(
      ['variable', 'purpose'],
      environment.map(([name, purpose]) => [`\`${name}\``, purpose]),
    )}`,
    localSection(),
    '',
  ].join('\n\n');
}

function commandSection(command: Command): string {
  const operation = operations.find(({ command: words }) => words === command.words);
  const name = `svc ${command.words.join(' ')}`;
  return [
    `## ${name}`,
    `${command.summary}.`,
    ...(command.about ? [command.about] : []),
    `    ${name} [flags]${command.argument ? ` ${argumentTerm(command.argument)}` : ''}`,
    ...(command.argument ? [`\`${command.argument.name}\`: ${command.argument.summary}.`] : []),
    '### Flags',
    table(
      ['flag', 'meaning'],
      command.flags.map((flag) => [`\`${flagTerm(flag)}\``, flag.summary]),
    ),
    ...(operation ? operationSections(operation) : []),
    '### Examples',
    command.examples.map((example) => `${example.why}:\n\n    ${exampleLine(example)}`).join('\n\n'),
  ].join('\n\n');
}

function operationSections(operation: Operation): string[] {
  const { path, auth, limit, preview } = operation;
  const scheme = auth === 'basic' ? 'Basic' : 'Bearer';
  const time =
    limit === undefined
      ? 'no time limit unless `--timeout` sets one'
      : `at most ${limit} s unless \`--timeout\` says otherwise`;
  return [
    '### Request',
    `POST \`${path}\`, ${scheme} authentication, ${time}.${preview ? ' A preview: the service may change it.' : ''}`,
    fieldTable(operation.body),
    '### Reply',
    fieldTable(operation.reply),
  ];
}

function localSection(): string {
  const ignored = Object.keys(operations.find(({ path }) => path === '/v1/chat/completions')?.body ?? {}).filter(
    (name) => !simulated.includes(name),
  );
  return [
    '## The built-in model of the local service',
    'It answers deterministically from the messages and the seed, under the name `svc-local`. It takes these members without simulating what they do:',
    [...ignored, ...unkept.map((name) => `structured_outputs.${name}`)].map((name) => `\`${name}\``).join(', '),
  ].join('\n\n');
}

function argumentTerm({ name, many, required }: Argument): string {
  const term = many ? `${name}...` : name;
  return required ? `<${term}>` : `[${term}]`;
}

function flagTerm({ name, short, takes, value }: Flag): string {
  const long = takes === 'boolean' ? `--[no-]${name}` : takes === 'off' ? `--no-${name}` : `--${name}`;
  return `${short ? `-${short}, ` : ''}${long}${value ? ` ${value}` : ''}`;
}
