import { Buffer } from 'node:buffer';
import { basename } from 'node:path';
import { type Issue, usageFailure } from '../errors.ts';
import { joinWithOr } from '../fields/closest-match.ts';
import { type Field, flagName, isScalar, minimalValue, type Shape, sampleValue } from '../fields/field.ts';
import { describeShape, isWithin } from '../fields/mismatch-message.ts';
import { ageToTimestamp, parseAgeStart, timeToTimestamp } from '../fields/string-formats.ts';
import { uuidV7 } from '../fields/uuid.ts';
import type { FlagValue } from '../flag.ts';
import {
  firstStringMember,
  formatJsonPath,
  getMember,
  type JsonPath,
  kindOf,
  nodeAtPath,
  parseJsonPath,
  rawBytes,
  rawText,
  rootOf,
} from '../json/json-node.ts';
import { likelyNumbers } from '../json/number-literal.ts';
import { RawJson, writeJson } from '../json/write-json.ts';
import { type FlagTarget, flagTarget, type Operation } from '../operations/operation.ts';
import { shellWord } from '../output/shell-quote.ts';
import { fileField, fileReferenceFlags } from './body-base.ts';
import { type BodyFlags, givenText, givenTexts } from './body-flags.ts';
import { type MessageInput, messageEdits, parseMessageFlag } from './chat/chat-edits.ts';
import { type Draft, type Edit, setDraftFields, setDraftPaths, type ValueOrigin } from './draft.ts';
import { type BodyInputs, fileReference } from './input-reader.ts';
import { decodeLine, isIssue, parseJsonSource, placeInSource } from './json-source.ts';

// A longer sample hides the message.
const MAX_SAMPLE_CHARS = 200;

type EditResult = Edit | Issue;

interface FlagInput extends MessageInput {
  readonly operation: Operation;
  /** That of a call whose id is a flag, unless the body has one. */
  readonly project?: string | undefined;
  /** Files that are arguments, in whose place the body has an empty array. */
  readonly files?: readonly string[];
}

/** A draft with the flags of fields, then all others. Throws as rejectInvalidFlags does. */
export async function applyFlags(draft: Draft, input: FlagInput): Promise<Draft> {
  return applyShorthands(setDraftFields(draft, flagTarget(input.operation), await fieldEdits(input)), input);
}

/** A draft with the shorthands and `--set`. A shorthand that depends on other fields comes last: on those that are sent. */
export async function applyShorthands(draft: Draft, input: FlagInput): Promise<Draft> {
  const { operation, given } = input;
  const target = flagTarget(operation);
  const shortened = setDraftFields(draft, target, await shorthandEdits(draft, input));
  const edited = setDraftPaths(shortened, [...partEdits(operation, given), ...setFlagEdits(operation, given)]);
  return setDraftFields(edited, target, derivedEdits(edited, input));
}

/** Throws usage for flags that are invalid whatever the body is, before any input is read (docs/internals/contract.md 3). */
export function rejectInvalidFlags(operation: Operation, given: BodyFlags, now: number): void {
  for (const name of fileReferenceFlags(operation)) fileReference(givenText(given, name) ?? '', `--${name}`);
  for (const [name, { isSecret }] of Object.entries(flagTarget(operation).fields)) {
    const label = `--${flagName(name)}`;
    const word = isSecret ? givenText(given, flagName(name)) : undefined;
    const hint = `write ${label} random, ${label} @file, or ${label} @- for stdin`;
    if (word !== undefined && word !== 'random' && !word.startsWith('@'))
      throw usageFailure(`${label} is a secret and cannot be an argument`, hint);
  }
  setFlagEdits(operation, given);
  for (const [name, { kind }] of Object.entries(operation.shorthands ?? {})) {
    if (kind === 'role-message') givenTexts(given, name).forEach(parseMessageFlag);
    const word = givenText(given, name);
    if (kind === 'age' && word !== undefined) parseAgeStart(`--${name}`, word, now);
    if (kind === 'call-ref' && word !== undefined && /^$|[/:]/.test(word.replace(/\{\{.*?\}\}/g, '.')))
      throw usageFailure(
        `--${name} takes an id, not ${JSON.stringify(word)}`,
        word === '' ? `give the id of a call, or leave --${name} out` : 'give a ref with --svc-ref',
      );
  }
}

// Paths start in the object that flags fill; for a call `start.op_name` and `op_name` are the same, and `start` is the whole
// object. Throws usage for an invalid path, and for a field that a shorthand sets, too.
function setFlagEdits(operation: Operation, given: BodyFlags): EditResult[] {
  const target = flagTarget(operation);
  const results = givenTexts(given, 'set').map((word) => parseSetFlag(target, word));
  const setFields = results.map((result) => (isIssue(result) ? '' : formatJsonPath(result.path)));
  for (const [name, shorthand] of Object.entries(operation.shorthands ?? {})) {
    const implied = shorthand.kind === 'part' ? Object.keys(shorthand.implies ?? {}) : [];
    const own = given.has(name) ? [...(shorthand.sets ?? []), ...implied] : [];
    const field = setFields.find((set) => own.some((one) => one === set || one.startsWith(`${set}.`)));
    if (field !== undefined) throw usageFailure(`--${name} and --set ${field} set the same field`, 'give one of them');
  }
  return results;
}

function parseSetFlag(target: FlagTarget, word: string): EditResult {
  const [, left = '', colon = '', right] = /^((?:\\.|[^\\=:]|:(?!=))*)(:?)=(.*)$/s.exec(word) ?? [];
  const inner = parseJsonPath(left);
  if (right === undefined || !inner) {
    const [name = ''] = /\w+/.exec(word) ?? [];
    rejectSecret(target.fields[name], name);
    const missing = right === undefined ? '=' : left === '' ? 'path before the =' : undefined;
    const problem = missing
      ? ` ${JSON.stringify(word)} has no ${missing}`
      : `: ${JSON.stringify(left)} is not a valid path`;
    throw usageFailure(`--set${problem}`, 'write path=text or path:=json, such as payload.score:=0.9');
  }
  const [outer] = target.path;
  const isFull = outer !== undefined && inner[0] === outer && !Object.hasOwn(target.fields, String(outer));
  const path = isFull ? inner : [...target.path, ...inner];
  rejectSecret(target.fields[String(inner[0])], left);
  const label = `--set ${left}`;
  if (colon === '') return { path, text: JSON.stringify(right), origin: { label } };
  const source = parseJsonSource(label, right);
  if (!isIssue(source)) return { path, text: right.trim(), origin: { label, source } };
  const [number] = likelyNumbers(right);
  const field = target.fields[inner.length === 1 ? String(inner[0]) : ''];
  const canBeText = !field || field.type === 'string' || field.type === 'json';
  // The message says how to write a word of another language.
  const isWord = /^\w+(?: |$)/.test(right) && !/^(?:None|True|False|NaN|Infinity)$/.test(right);
  const text =
    isWord && (canBeText ? `for text, write --set ${shellWord(`${left}=${right}`)}` : `write ${describeShape(field)}`);
  const hint = number ? `; write --set ${shellWord(`${left}:=${number}`)}` : text ? `; ${text}` : '';
  return { ...source, message: source.message + hint };
}

function rejectSecret(field: Field | undefined, name: string): void {
  if (field?.isSecret)
    throw usageFailure(`--set ${name}: a secret cannot be an argument`, `write --${name.replaceAll('_', '-')} @file`);
}

async function shorthandEdits(draft: Draft, input: FlagInput): Promise<EditResult[]> {
  const { operation, given, inputs } = input;
  const { path: target } = flagTarget(operation);
  const results: EditResult[] = [];
  for (const [name, shorthand] of Object.entries(operation.shorthands ?? {})) {
    const word = givenText(given, name);
    if (word === undefined) continue;
    if (shorthand.kind === 'reply-schema') results.push(await responseFormatEdit(word, inputs));
    if (shorthand.kind !== 'age') continue;
    const text = JSON.stringify(parseAgeStart(`--${name}`, word, inputs.now()));
    results.push({ path: [...target, ...shorthand.sets], text, origin: { label: `--${name}`, argument: word } });
  }
  if (operation.arguments?.as !== 'prompt') return results;
  return [...results, ...(await messageEdits(draft, input))];
}

/** `response_format` for a JSON Schema, named like its title, else like its file, in the characters servers accept. */
async function responseFormatEdit(word: string, inputs: BodyInputs): Promise<EditResult> {
  const source = await readJsonArgument(word, '--json-schema', 'response_format', inputs, { type: 'object' });
  if (isIssue(source)) return source;
  const { doc, label } = source;
  const isFile = word.startsWith('@');
  const root = rootOf(doc);
  const named = `--json-schema${isFile ? `: ${label}` : ''}`;
  if (kindOf(root) !== 'object')
    throw usageFailure(`${named} is not a JSON Schema object`, 'write --json-schema @file');
  const file = isFile ? basename(label).replace(/(?:\.schema)?\.json$/, '') : '';
  const title = firstStringMember(root, 'title') ?? file;
  const name = title.replace(/[^A-Za-z0-9_-]+/g, '_').slice(0, 64) || 'reply';
  const schema = new RawJson(doc.bytes.toString().trim());
  const text = writeJson({ type: 'json_schema', json_schema: { name, schema } });
  return { path: ['response_format'], text, origin: { label, source, inside: ['json_schema', 'schema'] } };
}

// A part of a field, such as `payload.score`, with the fields that it implies.
function partEdits(operation: Operation, given: BodyFlags): EditResult[] {
  const { path } = flagTarget(operation);
  return Object.entries(operation.shorthands ?? {}).flatMap(([name, shorthand]): EditResult[] => {
    const word = givenText(given, name);
    if (shorthand.kind !== 'part' || word === undefined) return [];
    const origin = { label: `--${name}` };
    const part = [...path, ...shorthand.sets[0].split('.')];
    const text = argumentToJson({ type: shorthand.part }, word);
    const implied = Object.entries(shorthand.implies ?? {}).map(([field, value]) => ({
      path: [...path, field],
      text: JSON.stringify(value),
      origin,
    }));
    return text === undefined
      ? [invalidArgumentIssue(part, { type: shorthand.part }, word, origin.label)]
      : [...implied, { path: part, text, origin }];
  });
}

/** The edits of the shorthands that depend on other fields of a draft with all other flags. The validator reports a missing one. */
function derivedEdits(draft: Draft, { operation, given, inputs, project }: FlagInput): EditResult[] {
  const { path } = flagTarget(operation);
  return Object.entries(operation.shorthands ?? {}).flatMap(([name, shorthand]): EditResult[] => {
    if (!given.has(name)) return [];
    const origin = { label: `--${name}` };
    const setFields = (text: string, details: Partial<ValueOrigin> = {}): Edit[] =>
      (shorthand.sets ?? []).map((field) => ({ path: [...path, field], text, origin: { ...origin, ...details } }));
    if (shorthand.kind === 'new-id')
      return setFields(JSON.stringify(uuidV7(inputs.now(), inputs.randomBytes(10))), { isGenerated: true });
    if (shorthand.kind === 'copy') {
      const source = nodeAtPath(rootOf(draft.doc), [...path, shorthand.from]);
      return source ? setFields(rawText(source)) : [];
    }
    if (shorthand.kind !== 'call-ref') return [];
    const owner = firstStringMember(nodeAtPath(rootOf(draft.doc), path), 'project_id') ?? project;
    const issue = { path: shorthand.sets[0], at: origin, message: 'needs the project of the call' };
    return owner ? setFields(JSON.stringify(`svc:///${owner}/call/${givenText(given, name)}`)) : [issue];
  });
}

async function fieldEdits({ operation, given, inputs, files = [] }: FlagInput): Promise<EditResult[]> {
  const { path, fields } = flagTarget(operation);
  const results: EditResult[] = [];
  for (const [name, field] of Object.entries(fields)) {
    const value = given.get(flagName(name));
    if (files.length > 0 && name === fileField(operation)) {
      const label = files.map((file) => (file === '-' ? 'stdin' : file)).join(' ');
      results.push({ path: [...path, name], text: '[]', origin: { label } });
    } else if (value !== undefined) results.push(await fieldEdit([...path, name], field, value, inputs));
  }
  return results;
}

async function fieldEdit(path: JsonPath, field: Field, value: FlagValue, inputs: BodyInputs): Promise<EditResult> {
  const label = `--${flagName(String(path.at(-1)))}`;
  const origin = { label };
  if (typeof value === 'boolean') return { path, text: String(value), origin };
  if (typeof value === 'object') {
    const element = field.type === 'list' ? field.of : field;
    const invalid = value.find((word) => argumentToJson(element, word) === undefined);
    if (invalid !== undefined) return invalidArgumentIssue(path, element, invalid, label, true);
    return { path, text: `[${value.map((word) => argumentToJson(element, word)).join(',')}]`, origin };
  }
  if (field.isSecret) {
    const secret = await readFieldSecret(value, label, inputs);
    return { path, text: JSON.stringify(secret), origin: value === 'random' ? { label, argument: value } : origin };
  }
  if (!isScalar(field)) {
    const source = await readJsonArgument(value, label, formatJsonPath(path), inputs, field);
    if (isIssue(source)) return source;
    return { path, text: rawBytes(rootOf(source.doc)), origin: { label: source.label, source } };
  }
  const age = field.acceptsAge ? ageToTimestamp(value, inputs.now()) : undefined;
  const time = age ?? (field.type === 'string' && field.format === 'date-time' ? timeToTimestamp(value) : undefined);
  if (time !== undefined) return { path, text: JSON.stringify(time), origin: { label, argument: value } };
  const text = argumentToJson(field, value);
  return text === undefined ? invalidArgumentIssue(path, field, value, label) : { path, text, origin };
}

// Undefined if it is not of the type. Numbers stay as typed, except that JSON needs `0.5` for `.5` and `+0.5`; `null` and
// `@x` are strings.
function argumentToJson({ type }: Shape, word: string): string | undefined {
  const number = word.replace(/^\+(?=[\d.])/, '').replace(/^(-?)(?=\.\d)/, '$10');
  if (type === 'integer') return /^-?(?:0|[1-9]\d*)$/.test(word) ? word : undefined;
  if (type === 'number') return /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(number) ? number : undefined;
  return JSON.stringify(word);
}

async function readFieldSecret(word: string, label: string, inputs: BodyInputs): Promise<string> {
  // Servers reject the / of plain base64 (docs/internals/servers.md).
  if (word === 'random') return Buffer.from(inputs.randomBytes(32)).toString('base64url');
  return decodeLine(label, await inputs.read(word.slice(1)));
}

function invalidArgumentIssue(path: JsonPath, shape: Shape, word: string, label: string, isRepeatable = false): Issue {
  const name = formatJsonPath(path);
  const isNumber = shape.type === 'number' || shape.type === 'integer';
  const takes = (one: string): boolean => isNumber && isWithin(one, shape) && argumentToJson(shape, one) !== undefined;
  const meant = likelyNumbers(word).filter(takes);
  // `1,2` and `[1, 2]` for a flag that is repeated.
  const several = word.replace(/^\[|\]$/g, '').split(/[\s,]+/);
  if (isRepeatable && several.length > 1 && several.every(takes))
    meant.splice(0, meant.length, several.join(` ${label} `));
  const hint =
    word === 'null' && shape.nullable
      ? `; for null write --set ${name}:=null`
      : meant.length > 0
        ? `; write ${joinWithOr(meant.map((one) => `${label} ${one}`))}`
        : '';
  const message = `must be ${describeShape(shape, true)}, not ${JSON.stringify(word)}${hint}`;
  return { path: name, at: { label }, message };
}

async function readJsonArgument(word: string, label: string, path: string, { read }: BodyInputs, shape: Field | Shape) {
  const file = fileReference(word, label);
  const source =
    file === undefined
      ? parseJsonSource(label, word)
      : parseJsonSource(file === '-' ? 'stdin' : file, await read(file));
  if (!isIssue(source)) {
    const isWhole = shape.type === 'list' && getMember(rootOf(source.doc), path) !== undefined;
    if (!isWhole || file === undefined) return source;
    const message = `must be an array, not an object; for a whole body, write -f ${shellWord(file)}`;
    return { path, at: placeInSource(source), message };
  }
  const isFileName = /^[\w./~-]+\.\w+$/.test(word);
  const [, name, value = ''] = /^([\w.]+):?=(.+)$/s.exec(word) ?? [];
  const isJson = !isIssue(parseJsonSource(label, value));
  const [full, smallest] = [writeJson(sampleValue(shape)), writeJson(minimalValue(shape))];
  const { type: ofType, ...others } = (shape.type === 'object' && shape.fields) || {};
  const types = ofType && /^[a-z_]+$/.test(word) ? (ofType.advice?.oneOf ?? [word]) : [];
  // A type such as json_schema needs the field of its name.
  const type = types.find((one) => one.includes(word) && !Object.hasOwn(others, one));
  const sample = type ? writeJson({ type }) : full.length > MAX_SAMPLE_CHARS ? smallest : full;
  const example =
    file !== undefined
      ? `; the file must hold JSON, such as ${sample}`
      : name
        ? `; to set ${name} alone, write --set ${shellWord(`${path}.${name}${isJson ? ':=' : '='}${value}`)}`
        : `; write JSON, such as ${label} ${shellWord(sample)}, or ${label} @file.json`;
  const hint = isFileName ? `; to read a file, write @${word}` : example;
  return { ...source, path, message: source.message + hint };
}
