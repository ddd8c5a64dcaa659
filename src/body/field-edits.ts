import { Buffer } from 'node:buffer';
import { type Issue, usage } from '../errors.ts';
import { expected } from '../fields/expectation.ts';
import { type Field, flagName, type Shape } from '../fields/field.ts';
import { isScalar } from '../fields/field-flag.ts';
import { type FlagValues, isOn, listOf, textOf } from '../fields/flag.ts';
import { timeAgo } from '../fields/time.ts';
import { jsonOfWord } from '../fields/word.ts';
import { bytesOf, rootOf } from '../json/node.ts';
import { formatPath, type Path } from '../json/path.ts';
import type { Target } from '../operations/target.ts';
import type { Collected } from './collected.ts';
import type { Edit } from './edit.ts';
import { readReference, referenceLabel } from './reference.ts';
import { isIssue, readSource, readText, withoutFinalNewline } from './source.ts';
import type { Tools } from './tools.ts';

/** The edits of the flags that name members of the body, in the order of the fields. */
export async function fieldEdits({ path, fields }: Target, flags: FlagValues, tools: Tools): Promise<Collected> {
  const edits: Edit[] = [];
  const issues: Issue[] = [];
  for (const [name, field] of Object.entries(fields)) {
    const found = await fieldEdit([...path, name], field, flags, tools);
    if (found && 'message' in found) issues.push(found);
    else if (found) edits.push(found);
  }
  return { edits, issues };
}

async function fieldEdit(path: Path, field: Field, flags: FlagValues, tools: Tools): Promise<Edit | Issue | undefined> {
  const name = flagName(String(path.at(-1)));
  const label = `--${name}`;
  const switched = isOn(flags, name);
  if (switched !== undefined) return { path, text: String(switched), origin: { label } };
  const words = listOf(flags, name);
  if (words.length > 0 && field.type === 'list') return listEdit(path, field.of, words, label);
  const word = textOf(flags, name);
  if (word === undefined) return undefined;
  if (field.secret) return { path, text: JSON.stringify(await secretOf(word, label, tools)), origin: { label } };
  if (!isScalar(field)) return jsonEdit(path, word, label, tools);
  const text = jsonOfWord(field, (field.age ? timeAgo(word, tools.now()) : undefined) ?? word);
  return text === undefined ? unreadable(path, field, word, label) : { path, text, origin: { label } };
}

function listEdit(path: Path, element: Shape, words: readonly string[], label: string): Edit | Issue {
  const texts: string[] = [];
  for (const word of words) {
    const text = jsonOfWord(element, word);
    if (text === undefined) return unreadable(path, element, word, label);
    texts.push(text);
  }
  return { path, text: `[${texts.join(',')}]`, origin: { label } };
}

async function jsonEdit(path: Path, word: string, label: string, tools: Tools): Promise<Edit | Issue> {
  const bytes = word.startsWith('@') ? await readReference(word, tools) : word;
  const from = referenceLabel(word) ?? label;
  const source = readSource(from, bytes);
  if (isIssue(source)) return { ...source, path: formatPath(path) };
  return { path, text: bytesOf(rootOf(source.doc)), origin: { label: from, source } };
}

async function secretOf(word: string, label: string, tools: Tools): Promise<string> {
  if (word === 'random') return Buffer.from(tools.randomBytes(32)).toString('base64');
  if (!word.startsWith('@'))
    throw usage(`${label} is a secret and never an argument`, `write ${label} random, @file or @- for stdin`);
  return withoutFinalNewline(readText(label, await readReference(word, tools)));
}

function unreadable(path: Path, shape: Shape, word: string, label: string): Issue {
  const hint = word === 'null' ? `; for null write --set ${formatPath(path)}:=null` : '';
  return {
    path: formatPath(path),
    at: label,
    message: `must be ${expected(shape)}, not ${JSON.stringify(word)}${hint}`,
  };
}
