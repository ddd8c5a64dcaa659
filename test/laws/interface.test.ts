import { describe, expect, it } from 'vitest';
import type { AcceptedFields, Field, Fields, Shape } from '../../src/fields/field.ts';
import { writeJson } from '../../src/json/write-json.ts';
import { allOperations } from '../../src/operations/all-operations.ts';
import { feedbackReplaceOperation } from '../../src/operations/feedback-replace.ts';
import { feedbackTypes, reservedFields } from '../../src/operations/feedback-rules.ts';
import * as table from './interface-table.ts';

const byPath: { readonly [path: string]: readonly [body: string, reply: string] } = {
  '/feedback/replace': [table.replace, table.replaceReply],
  '/feedback/payload_schema': [table.schema, table.schemaReply],
  '/v1/chat/completions': [table.chat, table.chatReply],
  '/v1/preview/training-jobs': [table.train, table.trainReply],
  '/call/start': [table.start, table.startReply],
};

const advice = 'add or correct the row in test/laws/interface-table.ts, by hand from the interface';

describe('the definitions agree with the table typed from the interface', () => {
  it.each(allOperations)('$path', ({ path, body, reply }) => {
    const [bodyTable, replyTable] = byPath[path] ?? ['', ''];
    // Elements of lists and members of messages that the interface does not print are left out on both sides.
    expect(linesOf(body).filter(isPrinted).sort(), advice).toEqual(rows(bodyTable));
    // A call of a custom tool has a type of its own (docs/internals/servers.md).
    const replyLines = linesOf(reply).map((row) => row.replace('only=function,custom', 'only=function'));
    expect(replyLines.filter(isPrinted).sort(), advice).toEqual(rows(replyTable));
  });

  it('names the operations, their paths and authentication', () => {
    const found = allOperations.map(({ command, path, auth }) => `${command.join(' ')} ${path} ${auth}`);
    expect(found).toEqual([
      'feedback replace /feedback/replace basic',
      'feedback schema /feedback/payload_schema basic',
      'chat /v1/chat/completions bearer',
      'train /v1/preview/training-jobs bearer',
      'call start /call/start basic',
    ]);
  });
});

// What a field says about others: a name that is not one of its siblings is advice that nobody can follow.
it.each(allOperations)('$path: every sibling that a field names exists', ({ body, accepted = {} }) => {
  const unknown = [...unknownSiblings(body, accepted, 'body')];
  expect(unknown, 'correct these names, or add the fields beside the one that names them').toEqual([]);
});

it.each(allOperations)('$path: every field that a shorthand sets or copies exists', ({ body, shorthands = {} }) => {
  const unknown = Object.entries(shorthands).flatMap(([name, { sets = [], ...shorthand }]) => {
    const copied = shorthand.kind === 'copy' ? [shorthand.from] : [];
    const implied = Object.keys(('implies' in shorthand && shorthand.implies) || {});
    return [...sets, ...copied, ...implied].filter((path) => !isField(body, path)).map((path) => `--${name} ${path}`);
  });
  expect(unknown, 'correct these names').toEqual([]);
});

it('every field that a rule of feedback names exists', () => {
  const { body, accepted = {} } = feedbackReplaceOperation;
  const needed = Object.values(feedbackTypes).flatMap(({ needs = [], namedBy = [] }) => [...needs, namedBy].flat());
  const reserved = reservedFields.flatMap(([fields, types]) => [
    ...fields,
    ...types.filter((type) => !(type in feedbackTypes)),
  ]);
  const unknown = [...needed, ...reserved].filter((name) => !(name in body) && !(name in accepted));
  expect(unknown, 'correct these names in feedback-rules.ts').toEqual([]);
});

// Members of a field that takes any JSON are its own business.
function isField(fields: Fields, path: string): boolean {
  const [name = '', ...inner] = path.split('.');
  const field = fields[name];
  if (!field || inner.length === 0) return field !== undefined;
  return field.type !== 'object' || !field.fields || isField(field.fields, inner.join('.'));
}

function* unknownSiblings(fields: Fields, accepted: AcceptedFields, path: string): Generator<string> {
  const names = new Set([...Object.keys(fields), ...Object.keys(accepted)]);
  const advised = Object.entries(fields).map(([name, field]) => [name, field, field.advice ?? {}] as const);
  const others = Object.entries(accepted).map(([name, advice]) => [name, undefined, advice] as const);
  for (const [name, field, advice] of [...advised, ...others]) {
    const { needs, wants, after, conflicts = [], atMost = [] } = advice;
    const { deprecated, excludes, fillUnless } = field ?? {};
    const named = [deprecated, excludes, fillUnless, needs, wants?.member, after, ...conflicts, ...atMost];
    for (const other of named)
      if (other !== undefined && (other === name || !names.has(other))) yield `${path}.${name} names ${other}`;
    if (field) yield* unknownInside(field, `${path}.${name}`);
  }
}

function* unknownInside(shape: Shape, path: string): Generator<string> {
  if (shape.type === 'object' && shape.fields) yield* unknownSiblings(shape.fields, shape.accepted ?? {}, path);
  if (shape.type === 'list') yield* unknownInside(shape.of, `${path}[]`);
  if (shape.type === 'either') for (const one of shape.of) yield* unknownInside(one, path);
}

function rows(text: string): string[] {
  return text.trim().split('\n').sort();
}

function linesOf(fields: Fields, prefix = ''): string[] {
  return Object.entries(fields).flatMap(([name, field]) => [
    line(prefix + name, field),
    ...inner(prefix + name, field),
  ]);
}

function inner(name: string, shape: Shape): string[] {
  if (shape.type === 'object' && shape.fields) return linesOf(shape.fields, `${name}.`);
  if (shape.type !== 'list') return [];
  return shape.of.type === 'object' && shape.of.fields ? inner(`${name}[]`, shape.of) : [line(`${name}[]`, shape.of)];
}

function line(name: string, field: Shape & Partial<Field>): string {
  const words = [
    name,
    field.type === 'string' && (field.format === 'date-time' || field.format === 'uuid') ? field.format : field.type,
  ];
  if (field.required) words.push('required');
  if (field.nullable) words.push('nullable');
  if (field.deprecated) words.push('deprecated');
  if (field.default !== undefined) words.push(`default=${writeJson(field.default)}`);
  if ('min' in field && field.min !== undefined) words.push(`range=${field.min}..${field.max}`);
  if ('oneOf' in field && field.oneOf) words.push(`only=${field.oneOf.join(',')}`);
  return words.join(' ');
}

// The last ones are fields of existing servers.
const unprinted =
  /^(messages\[\]|stop\[\]|response_format\.type|.*\.(additional_histories|logs|messages_and_choices)\[\]|.*bytes\[\]|.*\.(reasoning_details|custom|refusal)\b(?! string).*|.*\.(reasoning_details\[\]|custom)\..*)/;

function isPrinted(row: string): boolean {
  return !unprinted.test(row);
}
