import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { allCommands } from '../../src/cli/all-commands.ts';
import { otherTools } from '../../src/cli/other-tools.ts';
import { type Fields, flagName, type Shape } from '../../src/fields/field.ts';
import { hasFormat, type StringFormat, stringFormats } from '../../src/fields/string-formats.ts';
import { rootOf } from '../../src/json/json-node.ts';
import { parseJson } from '../../src/json/parse-json.ts';
import { allOperations } from '../../src/operations/all-operations.ts';
import { chatResponseFields } from '../../src/operations/chat-response-fields.ts';
import { hasOutput } from '../../src/operations/chat-text.ts';
import { feedbackReplaceOperation } from '../../src/operations/feedback-replace.ts';
import { reservedFields } from '../../src/operations/feedback-rules.ts';

const fields = allOperations.flatMap(({ body }) =>
  Object.entries(body).map(([name, field]) => ({ name, field, body })),
);

const docs = new URL('../../docs/', import.meta.url);
const guides = readdirSync(docs).flatMap((name) =>
  name.endsWith('.md') ? readFileSync(new URL(name, docs), 'utf8') : [],
);
const servers = readFileSync(new URL('internals/servers.md', docs), 'utf8').replace(/\s+/g, ' ');

it('a streamed text of a message counts as output', () => {
  const { choices } = chatResponseFields;
  const choice = choices?.type === 'list' && choices.of.type === 'object' ? choices.of.fields : undefined;
  const message = choice?.message?.type === 'object' ? (choice.message.fields ?? {}) : {};
  const texts = Object.keys(message).filter((name) => message[name]?.join === 'concatenate');
  const isOutput = (name: string): boolean => hasOutput(rootOf(parseJson(`{"choices":[{"delta":{"${name}":"x"}}]}`)));
  expect(texts).toContain('content');
  const unread = texts.filter((name) => !isOutput(name));
  expect(unread, 'add them to reasoning-names.ts, or to hasOutput of chat-text.ts').toEqual([]);
});

it('a field of a streamed response says how its parts are joined', () => {
  const missing = (shapes: Fields, path = ''): string[] =>
    Object.entries(shapes).flatMap(([name, field]) => {
      const own = field.join === undefined ? [`${path}${name}: add join, such as { join: 'concatenate' }`] : [];
      const inner: Shape = field.type === 'list' && field.join === 'by-index' ? field.of : field;
      const isMerged = field.join === 'merge' || field.join === 'by-index';
      return isMerged && inner.type === 'object' ? [...own, ...missing(inner.fields ?? {}, `${path}${name}.`)] : own;
    });
  const streamed = allOperations.filter(({ body }) => 'stream' in body);
  expect(streamed.flatMap(({ reply }) => missing(reply))).toEqual([]);
});

it.each(fields.filter(({ field }) => field.deprecated))('the deprecated field $name is suggested nowhere', (one) => {
  const { name, field, body } = one;
  const form = new RegExp(`--${flagName(name)}(?![\\w-])`);
  expect(
    Object.keys(otherTools).filter((hint) => form.test(hint)),
    'suggest its replacement in other-tools.ts',
  ).toEqual([]);
  const lines = allCommands.flatMap(({ examples }) => examples.map(({ args }) => args));
  expect(lines.filter((line) => form.test(line))).toEqual([]);
  const guided = guides.flatMap((guide) => guide.split('\n').filter((line) => form.test(line)));
  expect(guided, 'write its replacement in these lines of docs/').toEqual([]);
  expect(field.isCommon, `move isCommon from ${name} to its replacement`).toBe(undefined);
  expect(body[field.deprecated ?? '']?.deprecated, `${name} names a replacement that is deprecated`).toBe(undefined);
});

it.each(fields.filter(({ field }) => field.wider))(
  '$name is not wider by a value that it has itself',
  ({ name, field }) => {
    const wider = (field.wider ?? []).flatMap((shape) => (shape.type === 'string' && shape.oneOf) || []);
    const own = new Set<string>(field.type === 'string' ? field.oneOf : []);
    const twice = wider.filter((value) => own.has(value));
    expect(twice, 'remove these values from wider').toEqual([]);
    const list = wider
      .map((value) => `\`${value}\``)
      .join(', ')
      .replace(/, (?!.*,)/, ' and ');
    const isListed = servers.includes(`\`${name}\` than the interface lists: ${list};`);
    if (field.wider?.length === 1 && wider.length > 0)
      expect(isListed, `write in docs/internals/servers.md: \`${name}\` than the interface lists: ${list};`).toBe(true);
  },
);

it('every kind of ref is a ref, and every field with one is reserved for the types of feedback that have it', () => {
  const refs = Object.keys(stringFormats).filter((name): name is StringFormat => name.endsWith('-ref'));
  const strangers = refs.filter((name) => !hasFormat(stringFormats[name].sample, 'any-ref'));
  expect(strangers, 'add the kind to the pattern of any-ref').toEqual([]);
  const kinds = refs.map((name) => stringFormats[name].sample.split('/')[5] ?? '');
  const unnamed = kinds.filter((kind) => !servers.includes(`\`${kind}`));
  expect(unnamed, 'add the kind to the list of refs in docs/internals/servers.md').toEqual([]);
  const reserved = reservedFields.flatMap(([names]) => names);
  const open = Object.entries(feedbackReplaceOperation.body).flatMap(([name, field]) =>
    'format' in field && field.format?.endsWith('-ref') && !reserved.includes(name) ? [name] : [],
  );
  expect(open, 'add the field to reservedFields').toEqual(['svc_ref']);
});
