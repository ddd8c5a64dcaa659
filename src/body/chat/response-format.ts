import { basename } from 'node:path';
import { type Issue, usageFailure } from '../../errors.ts';
import { firstStringMember, kindOf, rootOf } from '../../json/json-node.ts';
import { RawJson, writeJson } from '../../json/write-json.ts';
import type { Edit } from '../edit.ts';
import type { BodyDependencies } from '../input-reader.ts';
import { readJsonArgument } from '../json-argument.ts';
import { isIssue, type JsonSource } from '../json-source.ts';

/**
 * `response_format` for the JSON Schema in `@file` (or given as JSON). Its name is the schema's title, else that of the
 * file, in the characters servers take for a name.
 */
export async function responseFormatEdit(word: string, dependencies: BodyDependencies): Promise<Edit | Issue> {
  const source = await readJsonArgument(word, '--json-schema', 'response_format', dependencies);
  if (isIssue(source)) return source;
  const schema = new RawJson(source.doc.bytes.toString().trim());
  const text = writeJson({ type: 'json_schema', json_schema: { name: schemaName(source, word), schema } });
  return { path: ['response_format'], text, origin: { label: source.label } };
}

function schemaName({ doc, label }: JsonSource, word: string): string {
  const isFile = word.startsWith('@');
  const root = rootOf(doc);
  if (kindOf(root) !== 'object')
    throw usageFailure(
      isFile ? `--json-schema: ${label} is not a JSON Schema object` : '--json-schema is not a JSON Schema object',
      'write --json-schema @file',
    );
  const file = isFile ? basename(label).replace(/(?:\.schema)?\.json$/, '') : '';
  const name = firstStringMember(root, 'title') ?? file;
  return name.replace(/[^A-Za-z0-9_-]+/g, '_').slice(0, 64) || 'reply';
}
