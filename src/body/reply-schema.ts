import { basename } from 'node:path';
import { usage } from '../errors.ts';
import { kindOf, rootOf, stringIn } from '../json/node.ts';
import { RawJson, writeJson } from '../json/write.ts';
import type { Collected } from './collected.ts';
import { readReference, referenceLabel } from './reference.ts';
import { isIssue, readSource, type Source } from './source.ts';
import type { Tools } from './tools.ts';

/**
 * `response_format` for the JSON Schema in `@file` (or given as JSON). Its name is the schema's title, else that of the
 * file, in the characters servers take for a name.
 */
export async function replySchemaEdit(word: string, tools: Tools): Promise<Collected> {
  const label = referenceLabel(word) ?? '--json-schema';
  const source = readSource(label, word.startsWith('@') ? await readReference(word, tools) : word);
  if (isIssue(source)) return { edits: [], issues: [{ ...source, path: 'response_format' }] };
  const schema = new RawJson(source.doc.bytes.toString().trim());
  const text = writeJson({ type: 'json_schema', json_schema: { name: nameOf(source, word), schema } });
  return { edits: [{ path: ['response_format'], text, origin: { label } }], issues: [] };
}

function nameOf({ doc, label }: Source, word: string): string {
  const root = rootOf(doc);
  if (kindOf(root) !== 'object')
    throw usage('--json-schema needs a JSON Schema that is an object', 'write --json-schema @file');
  const file = word.startsWith('@') ? basename(label).replace(/(?:\.schema)?\.json$/, '') : '';
  const name = stringIn(root, 'title') ?? file;
  return name.replace(/[^A-Za-z0-9_-]+/g, '_').slice(0, 64) || 'reply';
}
