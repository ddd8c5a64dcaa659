import { Buffer } from 'node:buffer';
import type { Issue } from '../errors.ts';
import { type Field, flagName, isScalar, type Shape } from '../fields/field.ts';
import { describeShape } from '../fields/mismatch-message.ts';
import { ageToTimestamp } from '../fields/string-formats.ts';
import { type FlagValues, getArrayFlag, getBooleanFlag, getStringFlag } from '../flag.ts';
import { formatJsonPath, type JsonPath, rawBytes, rootOf } from '../json/json-node.ts';
import type { FlagTarget } from '../operations/operation.ts';
import { collectEdits, type Edit, type EditResult } from './edit.ts';
import type { BodyDependencies } from './input-reader.ts';
import { readJsonArgument } from './json-argument.ts';
import { decodeUtf8Text, isIssue, stripFinalNewline } from './json-source.ts';

/** The edits of the flags that name fields of the body, in the order of the fields. */
export async function fieldEdits(
  { path, fields }: FlagTarget,
  flags: FlagValues,
  dependencies: BodyDependencies,
): Promise<EditResult> {
  const results: (Edit | Issue)[] = [];
  for (const [name, field] of Object.entries(fields)) {
    const editOrIssue = await fieldEdit([...path, name], field, flags, dependencies);
    if (editOrIssue) results.push(editOrIssue);
  }
  return collectEdits(results);
}

async function fieldEdit(
  path: JsonPath,
  field: Field,
  flags: FlagValues,
  dependencies: BodyDependencies,
): Promise<Edit | Issue | undefined> {
  const name = flagName(String(path.at(-1)));
  const label = `--${name}`;
  const flagValue = getBooleanFlag(flags, name);
  if (flagValue !== undefined) return { path, text: String(flagValue), origin: { label } };
  const words = getArrayFlag(flags, name);
  if (words.length > 0 && field.type === 'list') return arrayEdit(path, field.of, words, label);
  const word = getStringFlag(flags, name);
  if (word === undefined) return undefined;
  if (field.isSecret) {
    const secret = await readFieldSecret(word, label, dependencies);
    return { path, text: JSON.stringify(secret), origin: word === 'random' ? { label, argument: word } : { label } };
  }
  if (!isScalar(field)) return jsonEdit(path, word, label, dependencies);
  const time = field.acceptsAge ? ageToTimestamp(word, dependencies.now()) : undefined;
  if (time !== undefined) return { path, text: JSON.stringify(time), origin: { label, argument: word } };
  const text = argumentToJson(field, word);
  return text === undefined ? invalidArgumentIssue(path, field, word, label) : { path, text, origin: { label } };
}

function arrayEdit(path: JsonPath, element: Shape, words: readonly string[], label: string): Edit | Issue {
  const texts: string[] = [];
  for (const word of words) {
    const text = argumentToJson(element, word);
    if (text === undefined) return invalidArgumentIssue(path, element, word, label);
    texts.push(text);
  }
  return { path, text: `[${texts.join(',')}]`, origin: { label } };
}

/**
 * The JSON text of one argument, or undefined if it does not have the type: an integer is digits, a number is a JSON
 * number. Both stay as typed; strings are literal, `null` and `@x` included.
 */
function argumentToJson({ type }: Shape, word: string): string | undefined {
  if (type === 'integer') return /^-?(?:0|[1-9]\d*)$/.test(word) ? word : undefined;
  if (type === 'number') return /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(word) ? word : undefined;
  return JSON.stringify(word);
}

async function jsonEdit(
  path: JsonPath,
  word: string,
  label: string,
  dependencies: BodyDependencies,
): Promise<Edit | Issue> {
  const source = await readJsonArgument(word, label, formatJsonPath(path), dependencies);
  if (isIssue(source)) return source;
  return { path, text: rawBytes(rootOf(source.doc)), origin: { label: source.label, source } };
}

async function readFieldSecret(word: string, label: string, dependencies: BodyDependencies): Promise<string> {
  if (word === 'random') return Buffer.from(dependencies.randomBytes(32)).toString('base64');
  // rejectInvalidFlags lets only files pass.
  return stripFinalNewline(decodeUtf8Text(label, await dependencies.inputs.read(word.slice(1))));
}

function invalidArgumentIssue(path: JsonPath, shape: Shape, word: string, label: string): Issue {
  const isNull = word === 'null' && shape.nullable === true;
  return {
    path: formatJsonPath(path),
    at: label,
    message: `must be ${describeShape(shape, true)}, not ${JSON.stringify(word)}${isNull ? `; for null write --set ${formatJsonPath(path)}:=null` : ''}`,
  };
}
