import type { Command } from '../../command.ts';
import { exitCodes } from '../../errors.ts';
import { type Flag, flagForms, flagTerm } from '../../flag.ts';
import { version } from '../../version.ts';
import { allCommands } from '../all-commands.ts';
import { exampleLine, introduction, usageLine } from './help-text.ts';
import { environmentVariables } from './help-topics.ts';

/**
 * Commands as data for programs and agents: flags, types, defaults and examples; with all exit codes and variables. JSON
 * leaves out what is undefined.
 */
export function helpAsJson(commands: readonly Command[]) {
  return {
    schema_version: 1,
    name: 'svc',
    version,
    summary: introduction,
    commands: commands.map(commandAsJson),
    exit_codes: Object.values(exitCodes).map(({ code, meaning, retry }) => ({ code, meaning, run_again: retry })),
    environment: environmentVariables.map(([name, summary]) => ({ name, summary })),
  };
}

function commandAsJson(command: Command) {
  const { name, summary, about, argument, listedFlags, examples, operation } = command;
  return {
    command: `svc ${name}`,
    summary,
    description: about,
    usage: usageLine(command),
    request: operation && `POST ${operation.path}`,
    argument: argument && {
      name: argument.name,
      summary: argument.summary,
      required: argument.isRequired === true,
      repeatable: argument.isRepeatable === true,
      choices: argument.choices,
    },
    flags: listedFlags.map(flagAsJson),
    examples: examples.map((example) => ({ summary: example.why, command: exampleLine(example) })),
  };
}

function flagAsJson(flag: Flag) {
  const { short, takes, value, summary, group, choices, conflicts } = flag;
  const [form, negation] = flagForms(flag);
  return {
    flag: form,
    short: short && `-${short}`,
    negation,
    type: valueType(flag),
    value,
    // It is given only after `=`.
    value_optional: takes === 'optional' ? true : undefined,
    repeatable: takes === 'values' ? true : undefined,
    required: group === 'Required' ? true : undefined,
    choices,
    default: flag.default ?? /\(default: ([^),]+)/.exec(summary)?.[1],
    conflicts: conflicts?.map((other) => `--${other}`),
    summary,
  };
}

function valueType({ takes, value = '' }: Flag): string {
  if (takes === 'switch' || takes === 'boolean' || takes === 'off') return 'boolean';
  const types: { readonly [placeholder: string]: string } = {
    '<n>': 'integer',
    '<x>': 'number',
    '<json>': 'json',
    '<file>': 'file',
  };
  return types[value] ?? 'string';
}

/** A skill file for agents: what svc does, when to use which command, and how to read its results. */
export function helpAsSkill(): string {
  const operations = allCommands.filter(({ operation }) => operation);
  const others = allCommands.filter(({ operation }) => !operation);
  const flags = ['--dry-run', '--json', '--local', '--set', '--error-format', '--stdin'];
  const known = operations.flatMap((command) => command.flags);
  return [
    '---',
    'name: svc',
    'description: Send feedback, discover feedback schemas, create chat completions and training jobs, and record traced calls with the svc command-line client.',
    '---',
    '',
    '# svc',
    '',
    introduction,
    '',
    '## Operations',
    '',
    ...operations.flatMap((command) => [
      `### svc ${command.name}`,
      '',
      [`${command.summary}.`, command.about ?? ''].join(' ').trim(),
      '',
      ...requiredLine(command),
      '```sh',
      ...command.examples.map(exampleLine),
      '```',
      '',
    ]),
    '## Other commands',
    '',
    ...others.map(({ name, summary }) => `- \`svc ${name}\`: ${summary}`),
    '',
    '## Flags that help agents',
    '',
    ...flags.flatMap((name) => {
      const flag = known.find((one) => flagForms(one)[0] === name);
      return flag ? [`- \`${flagTerm(flag)}\`: ${flag.summary}`] : [];
    }),
    '',
    '## Exit codes',
    '',
    ...Object.values(exitCodes).map(
      ({ code, meaning, retry }) => `- ${code}: ${meaning}${retry ? `. Run again: ${retry}` : ''}`,
    ),
    '',
    'Run `svc help --json` for every flag with its type, and `svc spec <command>` for the JSON Schema of a body.',
    '',
  ].join('\n');
}

function requiredLine({ flags }: Command): string[] {
  const required = flags.filter(({ group }) => group === 'Required').map((flag) => `\`${flagTerm(flag)}\``);
  return required.length === 0 ? [] : [`Required fields, from flags, a file or stdin: ${required.join(', ')}.`, ''];
}
