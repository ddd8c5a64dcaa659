import { batchFlags, promptFlags } from '../batch/batch-flags.ts';
import type { Argument, Command, RunCommand } from '../command.ts';
import { findSetting } from '../config/settings.ts';
import { joinWithOr } from '../fields/closest-match.ts';
import { type Field, fieldFlag } from '../fields/field.ts';
import { type Flag, flagGroup } from '../flag.ts';
import { allOperations } from '../operations/all-operations.ts';
import { chatOperation } from '../operations/chat.ts';
import { flagTarget, type Operation, type Shorthand } from '../operations/operation.ts';
import { trainOperation } from '../operations/train.ts';
import { resultFlagNames, schemaViewNames } from '../results/output-format.ts';
import {
  bodySourceFlags,
  defineCommands,
  resultFlags,
  sendingFlags,
  serviceFlags,
  summaryFlags,
} from './shared-flags.ts';

export const operationCommands: readonly Command[] = allOperations.flatMap((operation) =>
  defineCommands('Operations', {
    [operation.command.join(' ')]: {
      summary: operation.isPreview ? `${operation.summary} (preview)` : operation.summary,
      ...(operation.about ? { about: operation.about } : {}),
      ...(operation.arguments ? { argument: operationArgument(operation.arguments) } : {}),
      flags: () => [...bodyFlags(operation), ...operationFlags(operation)],
      hides: [],
      examples: operation.examples,
      operation,
      load: () => loadOperation(operation),
    },
  }),
);

async function loadOperation(operation: Operation): Promise<RunCommand> {
  if (operation === chatOperation) return (await import('../commands/chat/chat.ts')).runChat;
  if (operation === trainOperation) return (await import('../commands/train/train.ts')).runTrain;
  return (await import('../commands/operation/run-operation.ts')).runOperation(operation);
}

function operationArgument({ name, summary, as }: NonNullable<Operation['arguments']>): Argument {
  return { name, summary, isRepeatable: true, ...(as === 'prompt' ? {} : { isFile: true }) };
}

export function bodyFlags(operation: Operation): Flag[] {
  const settable = Object.entries(flagTarget(operation).fields).filter(([, field]) => !field.isReadOnly);
  return [
    ...settable.map(([name, field]) => operationFieldFlag(operation, name, field)),
    ...Object.entries(operation.shorthands ?? {}).flatMap(([name, shorthand]) => shorthandFlags(name, shorthand)),
  ];
}

// A prompt replaces the messages, which are then not required as a flag.
function operationFieldFlag({ arguments: given, shorthands = {} }: Operation, name: string, field: Field): Flag {
  const flag = fieldFlag(name, field);
  if (flag.group !== 'Required') return flag;
  if (given?.as === 'prompt') return { ...flag, group: 'Common' };
  const or = [
    ...Object.entries(shorthands).flatMap(([other, one]) =>
      one.kind === 'age' && one.sets[0] === name ? [`--${other}`] : [],
    ),
    ...(typeof given?.as === 'object' && given.as.filesOf === name ? [given.name] : []),
    ...(field.fill === 'project' ? [findSetting('project_id').variable ?? '', 'the profile'] : []),
  ];
  return or.length > 0 ? { ...flag, or, summary: `${flag.summary}; or ${joinWithOr(or)}` } : flag;
}

function shorthandFlags(name: string, { kind, short, summary, conflicts }: Shorthand): Flag[] {
  const form = `${short ? `-${short}, ` : ''}--${name}${shorthandValues[kind]}`;
  return flagGroup('Common', { [form]: conflicts ? { summary, conflicts } : summary });
}

const shorthandValues: { readonly [kind in Shorthand['kind']]: string } = {
  message: ' <text>',
  'role-message': ' <role:text>...',
  prefill: ' <text>',
  conversation: ' <file>',
  attach: ' <file>...',
  'reply-schema': ' <@file>',
  age: ' <age>',
  copy: '',
};

function operationFlags(operation: Operation): Flag[] {
  const { as } = operation.arguments ?? {};
  return [
    ...bodySourceFlags(as === 'prompt' ? lines : [...lines, 'file']),
    ...(typeof as === 'object' ? trainFlags : []),
    ...(operation.continuesTrace ? traceFlags : []),
    ...(operation.result.as === 'rows' ? schemaFlags : operation.result.as === 'chat' ? chatFlags : []),
    ...batchFlags,
    ...serviceFlags(),
    ...resultFlags(operation.result.as),
    ...summaryFlags,
    ...sendingFlags,
  ];
}

const preview = ['dry-run', 'curl'] as const;
const lines = ['batch', 'rows'] as const;

const trainFlags: readonly Flag[] = flagGroup('Common', {
  '--group-by <path>': {
    summary: 'Field that groups trajectories; for files with one per line, such as metadata.task',
    conflicts: lines,
  },
  '--allow-duplicate': 'Send the job even if the same one was already sent from this machine',
});

const traceFlags: readonly Flag[] = flagGroup('Common', {
  '--no-parent': 'Ignore the parent call that TRACEPARENT names',
  '--export': {
    summary: 'Print export lines for eval, so that child processes continue the trace',
    conflicts: [...resultFlagNames, ...lines, 'dry-run', 'curl'],
  },
});

const schemaFlags: readonly Flag[] = [
  ...flagGroup('Common', {
    '--view <view>': {
      summary: `How to show the schema: ${schemaViewNames.join(', ')}`,
      choices: schemaViewNames,
      conflicts: [...resultFlagNames, ...lines, ...preview],
    },
  }),
  ...flagGroup('Expectations', {
    '--expect <file>': {
      summary: 'Exit with 13 and list the differences if the schema differs from the one saved in this file',
      conflicts: [...lines, ...preview],
    },
    '--update': 'Write the file of --expect instead of comparing with it',
  }),
];

const chatFlags: readonly Flag[] = [
  ...promptFlags,
  ...flagGroup('Response', {
    '--extract <code|json>': {
      summary: 'Print only the first code block; or the first JSON',
      choices: ['code', 'json'],
      conflicts: [...resultFlagNames, ...lines],
    },
    '--stats': { summary: 'Report tokens, times and retries on stderr', conflicts: lines },
  }),
  ...flagGroup('Common', {
    '--continue': {
      summary: 'Continue the last conversation of the history; needs bodies there (see svc log)',
      conflicts: ['conversation', ...lines],
    },
  }),
  ...flagGroup('Expectations', {
    '--expect-text <regex>...': 'Exit with 13 unless the text matches (repeatable)',
    '--expect-not <regex>...': 'Exit with 13 if the text matches (repeatable)',
    '--expect-schema <@file>': 'Exit with 13 unless the text conforms; a JSON Schema',
    '--expect-finish <reason>': {
      summary: 'Exit with 13 unless finish_reason is this',
      offers: ['stop', 'length', 'tool_calls'],
    },
    '--expect-max-latency <duration>': 'Exit with 13 if the response takes longer; such as 2s',
    '--junit <file>': 'Write a JUnit report; one test case per request',
  }).map((flag) => ({ ...flag, conflicts: preview })),
];
