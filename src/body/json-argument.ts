import type { Issue } from '../errors.ts';
import type { BodyDependencies } from './input-reader.ts';
import { isIssue, type JsonSource, parseJsonSource } from './json-source.ts';
import { fileReference } from './named-inputs.ts';

/**
 * The JSON that an argument is or, as `@file` or `@-`, names; or why it is not JSON, as an issue of the field at `path`.
 * `label` is what to call the argument itself in messages. Throws Failure `local_file` for a file that cannot be read.
 */
export async function readJsonArgument(
  word: string,
  label: string,
  path: string,
  { inputs }: Pick<BodyDependencies, 'inputs'>,
): Promise<JsonSource | Issue> {
  const file = fileReference(word, label);
  const source =
    file === undefined
      ? parseJsonSource(label, word)
      : parseJsonSource(file === '-' ? 'stdin' : file, await inputs.read(file));
  if (!isIssue(source)) return source;
  const hint = /^[\w./~-]+\.\w+$/.test(word) ? `; to read a file, write @${word}` : '';
  return { ...source, path, message: source.message + hint };
}
