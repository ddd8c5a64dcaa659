import { batchFlags, promptFlags, type RequestOptions } from '../../batch/batch-flags.ts';
import { bodySourceFlags } from '../../body/body-flags.ts';
import {
  chatResponseFlags,
  continueFlags,
  expectationFlags,
  schemaExpectationFlags,
  schemaViewFlags,
  sendingFlags,
  summaryFlags,
  traceFlags,
  trainFlags,
} from '../../client/request-flags.ts';
import type { Argument, Command, RunCommand } from '../../command.ts';
import { findSetting, serviceFlags } from '../../config/settings.ts';
import { joinWithOr } from '../../fields/closest-match.ts';
import { type Field, fieldFlag, flagName } from '../../fields/field.ts';
import { type Flag, type FlagList, flagGroup, joinFlags } from '../../flag.ts';
import { allOperations } from '../../operations/all-operations.ts';
import { chatOperation } from '../../operations/chat.ts';
import { flagTarget, type Operation, type Shorthand } from '../../operations/operation.ts';
import { trainOperation } from '../../operations/train.ts';
import { resultFlags } from '../../output/output-format.ts';
import { command, defineCommands } from './define-commands.ts';

export const operationCommands: readonly Command[] = allOperations.flatMap((operation) =>
  defineCommands('Operations', {
    [operation.command.join(' ')]: command({
      summary: operation.isPreview ? `${operation.summary} (preview)` : operation.summary,
      ...(operation.about ? { about: operation.about } : {}),
      ...(operation.arguments ? { argument: operationArgument(operation.arguments) } : {}),
      flags: () => joinFlags(bodyFlags(operation), operationFlags(operation)),
      examples: operation.examples,
      operation,
      result: operation.result.as,
      load: () => loadOperation(operation),
    }),
  }),
);

async function loadOperation(operation: Operation): Promise<RunCommand<RequestOptions>> {
  if (operation === chatOperation) return (await import('../chat/chat.ts')).runChat;
  if (operation === trainOperation) return (await import('../train/train.ts')).runTrain;
  return (await import('../operation/request-command.ts')).runOperation(operation);
}

function operationArgument({ name, summary, as }: NonNullable<Operation['arguments']>): Argument {
  return { name, summary, isRepeatable: true, ...(as === 'prompt' ? {} : { isFile: true }) };
}

/** Which flags they are follows from the fields, so that the options have no names of theirs; see readBodyFlags. */
export function bodyFlags(operation: Operation): FlagList<object> {
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
      one.sets?.some((set) => set.split('.')[0] === name) ? [`--${other}`] : [],
    ),
    ...(typeof given?.as === 'object' && given.as.filesOf === name ? [given.name] : []),
    ...(field.fill === 'project' ? [findSetting('project_id').variable ?? '', 'the profile'] : []),
  ];
  return or.length > 0 ? { ...flag, or, summary: `${flag.summary}; or ${joinWithOr(or)}` } : flag;
}

function shorthandFlags(name: string, shorthand: Shorthand): readonly Flag[] {
  const { kind, short, summary, conflicts = [] } = shorthand;
  const implied = kind === 'part' ? Object.entries(shorthand.implies ?? {}) : [];
  const [whole = '', part] = shorthand.sets?.[0]?.split('.') ?? [];
  const written = implied.map(([field, text]) => `--${flagName(field)} ${text} --${whole} '{"${part}":"<text>"}'`);
  const instead = Object.fromEntries(written.map((flags) => [whole, `write: ${flags}`]));
  const value = kind === 'part' && shorthand.part === 'number' ? ' <x>' : shorthandValues[kind];
  const form = `${short ? `-${short}, ` : ''}--${name}${value}`;
  return flagGroup('Common', { [form]: { summary, conflicts, instead } });
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
  'new-id': '',
  'call-ref': ' <id>',
  part: ' <text>',
};

function operationFlags(operation: Operation): FlagList<Omit<RequestOptions, 'errorFormat'>> {
  const { as } = operation.arguments ?? {};
  return [
    ...bodySourceFlags(as === 'prompt' ? lines : [...lines, 'file']),
    ...(typeof as === 'object' ? trainFlags : []),
    ...(operation.continuesTrace ? traceFlags : []),
    ...(operation.result.as === 'rows' ? [...schemaViewFlags, ...schemaExpectationFlags] : []),
    ...(operation.result.as === 'chat'
      ? [...promptFlags, ...chatResponseFlags, ...continueFlags, ...expectationFlags]
      : []),
    ...batchFlags,
    ...serviceFlags(),
    ...resultFlags(operation.result.as),
    ...summaryFlags,
    ...sendingFlags,
  ];
}

const lines = ['batch', 'rows'] as const;
