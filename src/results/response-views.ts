import { safetyFailure } from '../errors.ts';
import { firstStringMember, getMember, itemsAt, type JsonDocument, rootOf } from '../json/json-node.ts';
import { parseJson, tryParseJson } from '../json/parse-json.ts';
import { indentJson, type JsonValue, writeJson } from '../json/write-json.ts';
import { choicesByIndex, contentText, ensureFinalNewline } from '../operations/chat-text.ts';

// The part of a response that a failure quotes, so that it is not lost.
const MAX_QUOTED_CHARS = 4000;

/** The first fenced code block, or text or block that is JSON. Throws Failure `safety_check` with the text if none. */
export function extractBlock(kind: string): (doc: JsonDocument) => string {
  return (doc) => {
    const [choice] = choicesByIndex(rootOf(doc));
    const wholeText = contentText(getMember(choice, 'message'));
    const text = wholeText.replace(LEADING_THOUGHTS, '');
    const blocks = Array.from(text.matchAll(FENCED_BLOCK), ([, indent = '', , block = '']) => unindent(block, indent));
    const found = kind === 'json' ? [text, ...blocks].find(isJson) : blocks[0];
    if (found !== undefined) return ensureFinalNewline(kind === 'json' ? found.trim() : found);
    throw safetyFailure(
      'expectation',
      `the response has no ${kind === 'json' ? 'JSON' : 'code block'}: ${wholeText.slice(0, MAX_QUOTED_CHARS)}`,
      { hint: 'without --extract, the whole text is printed' },
    );
  };
}

// Without a reasoning parser, a server sends the reasoning as text. If it has no end, the response was cut there.
const LEADING_THOUGHTS = /^\s*<(think|thinking)>[\s\S]*?(?:<\/\1>|$)/;

// A block in a list is indented. A block that the end of the text closes was cut off there.
const FENCED_BLOCK =
  /^([ \t]*)(`{3,}(?=[^`\n]*$)|~{3,}(?!~))[^\n]*\n([\s\S]*?)(?:^\1? {0,3}\2[`~]*[ \t\r]*$|$(?![\s\S]))/gm;

// As in Markdown: each line loses the indentation of the fence, or what it has of it.
function unindent(block: string, { length }: string): string {
  return length === 0 ? block : block.replace(new RegExp(`^[ \\t]{1,${length}}`, 'gm'), '');
}

function isJson(text: string): boolean {
  return text.trim() !== '' && tryParseJson(text) !== undefined;
}

/** The text of a response to `feedback schema` in a view other than the table. */
export function schemaViewText(view: string): (doc: JsonDocument) => string {
  return (doc) => {
    const tree = nestPaths(payloadTypes(doc));
    if (view === 'tree') return treeLines(tree, '').join('');
    if (view === 'typescript') return `export interface Payload ${typeScriptObject(tree, '')}\n`;
    const schema = { $schema: 'https://json-schema.org/draft/2020-12/schema', ...jsonSchemaOfObject(tree) };
    return `${indentJson(rootOf(parseJson(writeJson(schema))))}\n`;
  };
}

/** The paths of a feedback schema with their types, in the order of the response; rows without a path are left out. */
export function payloadTypes(doc: JsonDocument): [path: string, type: string][] {
  return itemsAt(rootOf(doc), 'paths').flatMap((row) => {
    const path = firstStringMember(row, 'json_path');
    return path ? [[path, firstStringMember(row, 'value_type') ?? 'unknown']] : [];
  });
}

// A key can hold values in some payloads and objects in others.
interface PathNode {
  readonly types: Set<string>;
  readonly keys: PathTree;
}
type PathTree = Map<string, PathNode>;

// Deeper keys of a path are ignored; its type is then shown at the last kept key.
const MAX_NESTED_KEYS = 101;

function nestPaths(paths: readonly (readonly [path: string, type: string])[]): PathTree {
  const root: PathTree = new Map();
  for (const [path, type] of paths) {
    let tree = root;
    let node: PathNode | undefined;
    for (const key of path.split('.').slice(0, MAX_NESTED_KEYS)) {
      node = tree.get(key) ?? { types: new Set(), keys: new Map() };
      tree.set(key, node);
      tree = node.keys;
    }
    node?.types.add(type);
  }
  return root;
}

function treeLines(tree: PathTree, indent: string): string[] {
  return [...tree].flatMap(([key, { types, keys }]) => [
    `${indent}${keyText(key)}${types.size > 0 ? `: ${[...types].join(' or ')}` : ''}\n`,
    ...treeLines(keys, `${indent}  `),
  ]);
}

function jsonSchemaOfObject(tree: PathTree): { readonly [name: string]: JsonValue } {
  const properties = [...tree].map(([key, { types, keys }]) => {
    const options: JsonValue[] = Array.from(types, (type) => schemaTypes.get(type)?.json ?? {});
    if (keys.size > 0) options.push(jsonSchemaOfObject(keys));
    return [key, options.length === 1 ? (options[0] ?? {}) : { anyOf: options }] as const;
  });
  return { type: 'object', properties: Object.fromEntries(properties) };
}

function typeScriptObject(tree: PathTree, indent: string): string {
  const fields = [...tree].map(([key, { types, keys }]) => {
    const options = Array.from(types, (type) => schemaTypes.get(type)?.typescript ?? 'unknown');
    if (keys.size > 0) options.push(typeScriptObject(keys, `${indent}  `));
    return `${indent}  ${keyText(key)}?: ${options.join(' | ')};\n`;
  });
  return `{\n${fields.join('')}${indent}}`;
}

function keyText(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key : JSON.stringify(key);
}

// The types that services infer; of any other, nothing is known.
const schemaTypes: ReadonlyMap<string, { json: JsonValue; typescript: string }> = new Map([
  ['numeric', { json: { type: 'number' }, typescript: 'number' }],
  ['boolean', { json: { type: 'boolean' }, typescript: 'boolean' }],
  ['categorical', { json: { type: 'string' }, typescript: 'string' }],
]);
