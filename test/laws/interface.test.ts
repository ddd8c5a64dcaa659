import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Field, Fields, Shape } from '../../src/fields/field.ts';
import { writeJson } from '../../src/json/write-json.ts';
import { allOperations } from '../../src/operations/all-operations.ts';
import type { Operation } from '../../src/operations/operation.ts';
import * as table from './interface-table.ts';

const byPath: { readonly [path: string]: readonly [body: string, reply: string] } = {
  '/feedback/replace': [table.replace, table.replaceReply],
  '/feedback/payload_schema': [table.schema, table.schemaReply],
  '/v1/chat/completions': [table.chat, table.chatReply],
  '/v1/preview/training-jobs': [table.train, table.trainReply],
  '/call/start': [table.start, table.startReply],
};

describe('the definitions agree with the table typed from the interface', () => {
  it.each(allOperations)('$path', ({ path, body, reply }) => {
    const [bodyTable, replyTable] = byPath[path] ?? ['', ''];
    // Elements of lists and members of messages that the interface does not print are left out on both sides.
    expect(linesOf(body).filter(isPrinted).sort()).toEqual(rows(bodyTable));
    expect(linesOf(reply).filter(isPrinted).sort()).toEqual(rows(replyTable));
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

const document = new URL('../../../shared/INTERFACE.md', import.meta.url);

describe.runIf(existsSync(document))('the definitions agree with the document itself', () => {
  const text = existsSync(document) ? readFileSync(document, 'utf8') : '';

  it.each(allOperations)('$path: every field of its table, and no other', (operation) => {
    const documented = documentedFields(text, operation);
    const outer = operation.flagsFrom === undefined ? undefined : operation.body[operation.flagsFrom];
    const fields = outer?.type === 'object' ? (outer.fields ?? {}) : operation.body;
    expect(Object.keys(fields)).toEqual(documented.map(({ name }) => name));
    for (const { name, type, required, fallback } of documented) {
      const field = fields[name];
      if (!field) throw new Error(`${name} is missing`);
      expect(`${name} nullable ${field.nullable === true}`).toBe(`${name} nullable ${/nullable/.test(type)}`);
      if (required !== undefined)
        expect(`${name} required ${field.required === true}`).toBe(`${name} required ${required}`);
      if (fallback !== undefined)
        expect(`${name} ${field.default === undefined ? '' : writeJson(field.default)}`).toBe(`${name} ${fallback}`);
      expect(`${name} ${kindWord(field)}`).toBe(`${name} ${documentedKind(type, field)}`);
    }
  });
});

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

const unprinted =
  /^(messages\[\]|stop\[\]|response_format\.type|.*\.(additional_histories|logs|messages_and_choices)\[\]|.*bytes\[\])/;

function isPrinted(row: string): boolean {
  return !unprinted.test(row);
}

interface Documented {
  readonly name: string;
  readonly type: string;
  readonly required: boolean | undefined;
  readonly fallback: string | undefined;
}

// The table of the endpoint, or, for a body of one record, the table of that record.
function documentedFields(text: string, { path, flagsFrom }: Operation): Documented[] {
  if (path === '/v1/preview/training-jobs') {
    const sentence = /Body: (.*?)\. Response/.exec(text.slice(text.indexOf(`### POST ${path}`)))?.[1] ?? '';
    return [...sentence.matchAll(/(\w+) \(([^)]*)\)/g)].map(([, name = '', type = '']) => ({
      name,
      type,
      required: type.includes('required'),
      fallback: undefined,
    }));
  }
  const heading = flagsFrom === undefined ? `### POST ${path}` : '### Started call';
  const section = text.slice(text.indexOf(heading)).split(/\n#{2,3} /)[0] ?? '';
  const [head = [], , ...body] = section
    .split('\n')
    .filter((row) => row.startsWith('|'))
    .map((row) =>
      row
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  const column = (row: readonly string[], name: string): string | undefined => {
    const at = head.indexOf(name);
    return at === -1 ? undefined : row[at];
  };
  return body.map((row) => {
    const fallback = column(row, 'Default');
    const isRequired = column(row, 'Required');
    return {
      name: row[0] ?? '',
      type: row[1] ?? '',
      required: isRequired === undefined ? (fallback === 'required' ? true : undefined) : isRequired === 'yes',
      fallback: fallback === undefined || fallback === 'required' ? undefined : normalDefault(fallback),
    };
  });
}

// Defaults that describe what the service does, rather than a value, are no defaults of ours.
function normalDefault(text: string): string {
  if (text === 'empty list') return '[]';
  if (text === 'none') return '"none"';
  return text === 'current time' || text === 'random id generated' ? '' : text;
}

function kindWord(field: Field): string {
  if (field.type !== 'string') return field.type;
  return field.format === 'date-time' || field.format === 'uuid' ? field.format : 'string';
}

function documentedKind(type: string, field: Field): string {
  if (/array|^list/.test(type)) return 'list';
  if (/date-time/.test(type)) return 'date-time';
  if (/uuid/.test(type)) return 'uuid';
  const word = /integer|number|boolean|string|object|config/.exec(type)?.[0];
  // tool_choice is printed without a type; the one value it may have is a string.
  return word === 'config' ? 'object' : (word ?? kindWord(field));
}
