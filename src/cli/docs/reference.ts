import type { Argument, Command } from '../../command.ts';
import { exitCodes } from '../../errors.ts';
import type { Flag } from '../../flag.ts';
import { simulatedFields, unenforcedConstraints } from '../../local-service/model/simulated-fields.ts';
import { allOperations } from '../../operations/all-operations.ts';
import type { Operation } from '../../operations/operation.ts';
import { allCommands } from '../all-commands.ts';
import { environmentVariables } from './environment-variables.ts';
import { fieldTable } from './field-table.ts';
import { exampleLine } from './help-text.ts';
import { localServiceSection } from './local-service-reference.ts';
import { markdownTable } from './markdown-table.ts';

/** The reference documentation, as Markdown: every command, flag, member, exit code and variable. */
export function referenceMarkdown(): string {
  return [
    '# svc reference',
    'Generated from the definitions by `npm run generate`; what `svc help` shows comes from the same place.',
    `## Commands\n\n${allCommands.map(({ words }) => `- [svc ${words.join(' ')}](#svc-${words.join('-')})`).join('\n')}`,
    ...allCommands.map(commandSection),
    `## Exit codes\n\n${markdownTable(
      ['exit', 'meaning', 'run again?'],
      Object.values(exitCodes).map(({ code, meaning, retry }) => [String(code), meaning, retry]),
    )}`,
    `## Environment\n\nAn empty variable counts as unset.\n\n${markdownTable(
      ['variable', 'purpose'],
      environmentVariables.map(([name, purpose]) => [`\`${name}\``, purpose]),
    )}`,
    localServiceSection(),
    localModelSection(),
    '',
  ].join('\n\n');
}

function commandSection(command: Command): string {
  const operation = allOperations.find(({ command: words }) => words === command.words);
  const name = `svc ${command.words.join(' ')}`;
  return [
    `## ${name}`,
    `${command.summary}.`,
    ...(command.about ? [command.about] : []),
    `    ${name} [flags]${command.argument ? ` ${argumentTerm(command.argument)}` : ''}`,
    ...(command.argument ? [`\`${command.argument.name}\`: ${command.argument.summary}.`] : []),
    '### Flags',
    markdownTable(
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

function localModelSection(): string {
  const ignored = Object.keys(allOperations.find(({ path }) => path === '/v1/chat/completions')?.body ?? {}).filter(
    (name) => !simulatedFields.includes(name),
  );
  return [
    '## The built-in model of the local service',
    'It answers deterministically from the messages and the seed, under the name `svc-local`. It takes these members without simulating what they do:',
    [...ignored, ...unenforcedConstraints.map((name) => `structured_outputs.${name}`)]
      .map((name) => `\`${name}\``)
      .join(', '),
  ].join('\n\n');
}

function argumentTerm({ name, isRepeatable, isRequired }: Argument): string {
  const term = isRepeatable ? `${name}...` : name;
  return isRequired ? `<${term}>` : `[${term}]`;
}

function flagTerm({ name, short, takes, value }: Flag): string {
  const long = takes === 'boolean' ? `--[no-]${name}` : takes === 'off' ? `--no-${name}` : `--${name}`;
  return `${short ? `-${short}, ` : ''}${long}${value ? ` ${value}` : ''}`;
}
