import { Buffer } from 'node:buffer';
import { basename } from 'node:path';
import { type Issue, usageFailure } from '../errors.ts';
import { type Field, flagName, isScalar, type Shape } from '../fields/field.ts';
import { describeShape } from '../fields/mismatch-message.ts';
import { ageToTimestamp, parseAgeStart, timeToTimestamp } from '../fields/string-formats.ts';
import { type FlagValues, getArrayFlag, getBooleanFlag, getStringFlag, isFlagOn } from '../flag.ts';
import { JsonPathError } from '../json/edit.ts';
import {
  firstStringMember,
  formatJsonPath,
  type JsonPath,
  kindOf,
  nodeAtPath,
  parseJsonPath,
  rawBytes,
  rawText,
  rootOf,
} from '../json/json-node.ts';
import { RawJson, writeJson } from '../json/write-json.ts';
import { type FlagTarget, flagTarget, type Operation, type Shorthand } from '../operations/operation.ts';
import { fileReferenceFlags } from './body-base.ts';
import { type MessageSources, messageEdits, parseMessageFlag } from './chat/message-edits.ts';
import { type Draft, type Edit, setDraftFields, setDraftPath } from './draft.ts';
import { type BodyDependencies, fileReference, readJsonArgument } from './input-reader.ts';
import {
  decodeUtf8Text,
  isIssue,
  type JsonSource,
  objectIssue,
  parseJsonSource,
  stripFinalNewline,
} from './json-source.ts';

/** A draft with edits of flags, and the issues of flags that could not become one. */
interface FlaggedDraft {
  readonly draft: Draft;
  readonly issues: readonly Issue[];
}

/**
 * A draft with the flags of a body: those of fields with `fileEdits`, then the others as applyShorthands does. Throws as
 * rejectInvalidFlags does.
 */
export async function applyFlags(
  draft: Draft,
  operation: Operation,
  flags: FlagValues,
  dependencies: BodyDependencies,
  messages: ChatInput = {},
  fileEdits: readonly Edit[] = [],
): Promise<FlaggedDraft> {
  const target = flagTarget(operation);
  const fields = await fieldEdits(target, flags, dependencies);
  const sets = setFlagEdits(operation, flags);
  const edits = [...fields.edits, ...fileEdits];
  const targetIssue = edits.length > 0 && draft.base ? objectIssue(draft.base, target) : undefined;
  const withFields = setDraftFields(draft, target.path, edits);
  const applied = await applyShorthands(withFields, operation, flags, dependencies, messages, sets.edits);
  const issues = [...fields.issues, ...sets.issues, ...applied.issues];
  return { draft: applied.draft, issues: targetIssue ? [targetIssue, ...issues] : issues };
}

type ChatInput = Omit<MessageSources, 'attachments'>;

/**
 * A draft with the shorthands and the edits of `--set`; a shorthand that copies a field comes last, so that the copy is
 * what is sent.
 */
export async function applyShorthands(
  draft: Draft,
  operation: Operation,
  flags: FlagValues,
  dependencies: BodyDependencies,
  messages: ChatInput = {},
  sets: readonly Edit[] = [],
): Promise<FlaggedDraft> {
  const { path } = flagTarget(operation);
  const { edits, issues } = await shorthandEdits(operation, draft, flags, messages, dependencies);
  let edited = setDraftFields(draft, path, edits);
  for (const edit of sets)
    try {
      edited = setDraftPath(edited, edit);
    } catch (error) {
      if (!(error instanceof JsonPathError)) throw error;
      issues.push({ path: formatJsonPath(edit.path), at: edit.origin.label, message: error.message });
    }
  return { draft: setDraftFields(edited, path, copyEdits(operation, edited, flags)), issues };
}

interface Edits {
  readonly edits: Edit[];
  readonly issues: Issue[];
}

function collectEdits(results: readonly (Edit | Issue)[]): Edits {
  return { edits: results.filter((result): result is Edit => !isIssue(result)), issues: results.filter(isIssue) };
}

/**
 * Throws usage for flags of a body that are invalid whatever the body is. Reads no input: errors of the command
 * line come before those of files (docs/contract.md 3).
 */
export function rejectInvalidFlags(operation: Operation, flags: FlagValues, now: number): void {
  const { fields } = flagTarget(operation);
  for (const [label, word] of stringFlags(fileReferenceFlags(operation), flags)) fileReference(word, label);
  const secrets = Object.keys(fields).filter((name) => fields[name]?.isSecret);
  for (const [label, word] of stringFlags(secrets.map(flagName), flags))
    if (word !== 'random' && !word.startsWith('@'))
      throw usageFailure(
        `${label} is a secret and cannot be an argument`,
        `write ${label} random, ${label} @file, or ${label} @- for stdin`,
      );
  setFlagEdits(operation, flags);
  for (const [name, { kind }] of Object.entries(operation.shorthands ?? {})) {
    if (kind === 'role-message') getArrayFlag(flags, name).forEach(parseMessageFlag);
    const word = getStringFlag(flags, name);
    if (kind === 'age' && word !== undefined) parseAgeStart(`--${name}`, word, now);
  }
}

function stringFlags(names: readonly string[], flags: FlagValues): [label: string, word: string][] {
  return names.flatMap((name) => {
    const word = getStringFlag(flags, name);
    return word === undefined ? [] : [[`--${name}`, word]];
  });
}

/**
 * The edits of `--set path=text` and `--set path:=json`. Paths start in the object that flags fill; for a call
 * `start.op_name` and `op_name` are the same, and `start` is the whole object. Throws usage for an invalid path, and
 * for a field that a shorthand sets, too.
 */
function setFlagEdits(operation: Operation, flags: FlagValues): Edits {
  const target = flagTarget(operation);
  const result = collectEdits(getArrayFlag(flags, 'set').map((word) => parseSetFlag(target, word)));
  const setFields = new Set(result.edits.map(({ path }) => formatJsonPath(path)));
  for (const [name, shorthand] of Object.entries(operation.shorthands ?? {})) {
    const field = flags.has(name) ? shorthandFields(shorthand).find((one) => setFields.has(one)) : undefined;
    if (field !== undefined) throw usageFailure(`--${name} and --set ${field} set the same field`, 'give one of them');
  }
  return result;
}

function parseSetFlag(target: FlagTarget, word: string): Edit | Issue {
  const [, left = '', colon = '', right] = /^((?:\\.|[^\\=:]|:(?!=))*)(:?)=(.*)$/s.exec(word) ?? [];
  const inner = parseJsonPath(left);
  if (right === undefined || !inner) {
    const [name = ''] = /\w+/.exec(word) ?? [];
    rejectSecret(target.fields[name], name);
    const missing = right === undefined ? '=' : left === '' ? 'path before the =' : undefined;
    throw usageFailure(
      missing
        ? `--set ${JSON.stringify(word)} has no ${missing}`
        : `--set: ${JSON.stringify(left)} is not a valid path`,
      'write path=text or path:=json, such as payload.score:=0.9',
    );
  }
  const path = fullPath(target, inner);
  rejectSecret(target.fields[String(inner[0])], left);
  const label = `--set ${left}`;
  if (colon === '') return { path, text: JSON.stringify(right), origin: { label } };
  const source = parseJsonSource(label, right);
  return isIssue(source) ? source : { path, text: right.trim(), origin: { label, source } };
}

function fullPath({ path, fields }: FlagTarget, inner: JsonPath): JsonPath {
  const [outer] = path;
  const isFull = outer !== undefined && inner[0] === outer && !Object.hasOwn(fields, String(outer));
  return isFull ? inner : [...path, ...inner];
}

function rejectSecret(field: Field | undefined, name: string): void {
  if (field?.isSecret)
    throw usageFailure(`--set ${name}: a secret cannot be an argument`, `write --${name.replaceAll('_', '-')} @file`);
}

/** The edits of an operation's shorthands, for a draft with the field flags. */
async function shorthandEdits(
  operation: Operation,
  draft: Draft,
  flags: FlagValues,
  messages: ChatInput,
  dependencies: BodyDependencies,
): Promise<Edits> {
  const { path: target } = flagTarget(operation);
  const results: (Edit | Issue)[] = [];
  for (const [name, shorthand] of Object.entries(operation.shorthands ?? {})) {
    if (!flags.has(name)) continue;
    const word = getStringFlag(flags, name) ?? '';
    const label = `--${name}`;
    if (shorthand.kind === 'age') {
      // rejectInvalidFlags lets only ages pass.
      const time = ageToTimestamp(word, dependencies.now()) ?? word;
      const origin = { label, argument: word };
      results.push({ path: [...target, shorthand.member], text: JSON.stringify(time), origin });
    } else if (shorthand.kind === 'reply-schema') {
      results.push(await responseFormatEdit(word, dependencies));
    }
  }
  if (operation.arguments?.as === 'prompt') {
    const files = getArrayFlag(flags, 'attach');
    const attachments =
      files.length === 0 ? [] : await (await import('./chat/attachment.ts')).readAttachments(files, dependencies);
    results.push(...messageEdits(draft, flags, { ...messages, attachments }));
  }
  return collectEdits(results);
}

/**
 * `response_format` for the JSON Schema in `@file` (or given as JSON). Its name is the schema's title, else that of the
 * file, in the characters servers take for a name.
 */
async function responseFormatEdit(word: string, dependencies: BodyDependencies): Promise<Edit | Issue> {
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

/** The edits of the shorthands that copy a field, for a draft with all other flags. The validator reports a missing one. */
function copyEdits(operation: Operation, draft: Draft, flags: FlagValues): Edit[] {
  const { path } = flagTarget(operation);
  return Object.entries(operation.shorthands ?? {}).flatMap(([name, shorthand]) => {
    if (shorthand.kind !== 'copy' || !isFlagOn(flags, name)) return [];
    const source = nodeAtPath(rootOf(draft.doc), [...path, shorthand.from]);
    return source ? [{ path: [...path, shorthand.to], text: rawText(source), origin: { label: `--${name}` } }] : [];
  });
}

/** The fields that a shorthand sets as a whole; messages are combined with those of the body. */
function shorthandFields(shorthand: Shorthand): readonly string[] {
  switch (shorthand.kind) {
    case 'age':
      return [shorthand.member];
    case 'copy':
      return [shorthand.to];
    case 'prefill':
      return ['continue_final_message', 'add_generation_prompt'];
    case 'reply-schema':
      return ['response_format'];
    default:
      return [];
  }
}

// In the order of the fields.
async function fieldEdits(
  { path, fields }: FlagTarget,
  flags: FlagValues,
  dependencies: BodyDependencies,
): Promise<Edits> {
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
  const age = field.acceptsAge ? ageToTimestamp(word, dependencies.now()) : undefined;
  const time = age ?? (field.type === 'string' && field.format === 'date-time' ? timeToTimestamp(word) : undefined);
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
  // Servers reject the / of plain base64 (docs/servers.md).
  if (word === 'random') return Buffer.from(dependencies.randomBytes(32)).toString('base64url');
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
