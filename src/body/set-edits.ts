import { type Issue, usage } from '../errors.ts';
import type { Field } from '../fields/field.ts';
import { type Path, parsePath } from '../json/path.ts';
import type { Target } from '../operations/target.ts';
import type { Collected } from './collected.ts';
import type { Edit } from './edit.ts';
import { isIssue, readSource } from './source.ts';

/**
 * The edits of `--set path=text` and `--set path:=json`. Paths start in the object that flags fill; for a call
 * `start.op_name` and `op_name` are the same, and `start` is all of it. Throws usage for what is no path.
 */
export function setEdits(target: Target, words: readonly string[]): Collected {
  const edits: Edit[] = [];
  const issues: Issue[] = [];
  for (const word of words) {
    const found = setEdit(target, word);
    if ('message' in found) issues.push(found);
    else edits.push(found);
  }
  return { edits, issues };
}

function setEdit(target: Target, word: string): Edit | Issue {
  const [, left = '', colon = '', right] = /^((?:\\.|[^\\=:]|:(?!=))*)(:?)=(.*)$/s.exec(word) ?? [];
  const inner = parsePath(left);
  if (right === undefined || !inner) {
    throw usage(
      `--set cannot read ${JSON.stringify(right === undefined ? word : left)}`,
      'write path=text or path:=json, such as payload.score:=0.9',
    );
  }
  const path = fullPath(target, inner);
  refuseSecret(target.fields[String(inner[0])], left);
  const label = `--set ${left}`;
  if (colon === '') return { path, text: JSON.stringify(right), origin: { label } };
  const source = readSource(label, right);
  return isIssue(source) ? source : { path, text: right.trim(), origin: { label, source } };
}

function fullPath({ path, fields }: Target, inner: Path): Path {
  const [outer] = path;
  const isFull = outer !== undefined && inner[0] === outer && !Object.hasOwn(fields, String(outer));
  return isFull ? inner : [...path, ...inner];
}

function refuseSecret(field: Field | undefined, name: string): void {
  if (field?.secret)
    throw usage(`--set ${name}: a secret is never an argument`, `use --${name.replaceAll('_', '-')} @file`);
}
