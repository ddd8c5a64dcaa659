import type { Buffer } from 'node:buffer';
import { BACKSLASH, OPEN_OBJECT } from './json-bytes.ts';

/** The signature of a key or name that may equal any other: their texts have to be compared. */
export const UNKNOWN_SIGNATURE = 0;

/** Equal keys have equal signatures; most keys of an object have different ones, so that their texts need not be read. */
export function keySignature(bytes: Buffer, start: number, end: number): number {
  return packSignature(end - start, bytes[start] ?? 0, bytes[(start + end) >> 1] ?? 0, bytes[end - 1] ?? 0);
}

export function nameSignature(name: string): number {
  const { length } = name;
  // Other characters take more bytes than one.
  for (let at = 0; at < length; at += 1) if (name.charCodeAt(at) >= 0x80) return UNKNOWN_SIGNATURE;
  return packSignature(length, name.charCodeAt(0), name.charCodeAt(length >> 1), name.charCodeAt(length - 1));
}

function packSignature(length: number, first: number, middle: number, last: number): number {
  return (length << 24) | (first << 16) | (middle << 8) | last;
}

/** JSON text with its index: of each value and key, its start, its end, and the entry after all it contains or, of a key, its signature. */
export interface JsonDocument {
  readonly bytes: Buffer;
  readonly tape: Int32Array;
  readonly hasDistinctKeys?: boolean;
}

export interface JsonNode {
  readonly doc: JsonDocument;
  readonly at: number;
}

export interface JsonMember {
  readonly key: string;
  readonly keyNode: JsonNode;
  readonly value: JsonNode;
}

export type JsonKind = 'object' | 'list' | 'string' | 'number' | 'boolean' | 'null';

export function rootOf(doc: JsonDocument): JsonNode {
  return { doc, at: 0 };
}

export function kindOf(node: JsonNode): JsonKind {
  return kindsByByte[node.doc.bytes[startOffset(node)] ?? 0] ?? 'number';
}

const kindsByByte: JsonKind[] = Array(256).fill('number');
const firstBytes = { '{': 'object', '[': 'list', '"': 'string', t: 'boolean', f: 'boolean', n: 'null' } as const;
for (const [byte, kind] of Object.entries(firstBytes)) kindsByByte[byte.charCodeAt(0)] = kind;

export function kindName(node: JsonNode): string {
  const kind = kindOf(node);
  if (kind === 'null') return 'null';
  if (kind === 'list') return 'an array';
  return kind === 'object' ? 'an object' : `a ${kind}`;
}

export function startOffset(node: JsonNode): number {
  return node.doc.tape[node.at * 3] ?? 0;
}

export function endOffset(node: JsonNode): number {
  return node.doc.tape[node.at * 3 + 1] ?? 0;
}

/** The members of an object in order, duplicates included; nothing for any other kind. */
export function* membersOf(node: JsonNode): Generator<JsonMember> {
  if (kindOf(node) !== 'object') return;
  const { doc } = node;
  const { tape } = doc;
  const end = tape[node.at * 3 + 2] ?? 0;
  for (let at = node.at + 1; at < end; at = tape[(at + 1) * 3 + 2] ?? end) {
    const keyNode = { doc, at };
    yield { key: keyOf(keyNode), keyNode, value: { doc, at: at + 1 } };
  }
}

// Objects of one kind have the same keys: one seen before is found by a hash of its signature.
const recentKeys: string[] = [];
const MAX_RECENT_CHARS = 64;

function keyOf(keyNode: JsonNode): string {
  const { doc, at } = keyNode;
  const slot = Math.imul(doc.tape[at * 3 + 2] ?? 0, 0x9e3779b1) >>> 24;
  const recent = recentKeys[slot];
  if (recent !== undefined && isKeyNamed(doc, at, recent)) return recent;
  const key = stringOf(keyNode);
  if (key.length <= MAX_RECENT_CHARS) recentKeys[slot] = key;
  return key;
}

export function* itemsOf(node: JsonNode): Generator<JsonNode> {
  if (kindOf(node) !== 'list') return;
  const { doc } = node;
  const { tape } = doc;
  const end = tape[node.at * 3 + 2] ?? 0;
  for (let at = node.at + 1; at < end; at = tape[at * 3 + 2] ?? end) yield { doc, at };
}

/** The value of a member; of duplicates the last, as in other JSON parsers. */
export function getMember(node: JsonNode | undefined, key: string): JsonNode | undefined {
  const at = node ? memberEntry(node.doc, node.at, key) : undefined;
  return node && at !== undefined ? { doc: node.doc, at } : undefined;
}

/** As getMember, on entries of the tape: for loops over millions of values, which pass the signature of the key, too. */
export function memberEntry(
  doc: JsonDocument,
  object: number,
  key: string,
  signature = nameSignature(key),
): number | undefined {
  const { bytes, tape } = doc;
  if (bytes[tape[object * 3] ?? 0] !== OPEN_OBJECT) return undefined;
  const end = tape[object * 3 + 2] ?? 0;
  let found: number | undefined;
  for (let at = object + 1; at < end; at = tape[(at + 1) * 3 + 2] ?? end) {
    const ofKey = tape[at * 3 + 2] ?? UNKNOWN_SIGNATURE;
    const mayBeEqual = ofKey === signature || ofKey === UNKNOWN_SIGNATURE || signature === UNKNOWN_SIGNATURE;
    if (mayBeEqual && isKeyNamed(doc, at, key)) found = at + 1;
  }
  return found;
}

// Comparing bytes avoids a string. A character is written with six bytes at most, so a far longer key need not be read.
function isKeyNamed(doc: JsonDocument, keyEntry: number, key: string): boolean {
  const { bytes, tape } = doc;
  const start = (tape[keyEntry * 3] ?? 0) + 1;
  const length = (tape[keyEntry * 3 + 1] ?? 0) - start - 1;
  if (length > 6 * key.length) return false;
  for (let at = 0; at < length; at += 1) {
    const byte = bytes[start + at] ?? 0;
    if (byte === BACKSLASH || byte >= 0x80) return stringOf({ doc, at: keyEntry }) === key;
    if (byte !== key.charCodeAt(at)) return false;
  }
  return length === key.length;
}

/** The text of a string with its escapes resolved; lone surrogates stay what they are. */
export function stringOf(node: JsonNode): string {
  const { bytes } = node.doc;
  const start = startOffset(node);
  const end = endOffset(node);
  const inner = bytes.toString('utf8', start + 1, end - 1);
  return inner.includes('\\') ? (JSON.parse(`"${inner}"`) as string) : inner;
}

/** The text of the first of these members that is a string. */
export function firstStringMember(node: JsonNode | undefined, ...names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = getMember(node, name);
    if (value && kindOf(value) === 'string') return stringOf(value);
  }
  return undefined;
}

export function itemsAt(node: JsonNode | undefined, name: string): JsonNode[] {
  const list = getMember(node, name);
  return list ? Array.from(itemsOf(list)) : [];
}

export function numberMember(node: JsonNode | undefined, name: string): number | undefined {
  const value = getMember(node, name);
  return value && kindOf(value) === 'number' ? Number(rawText(value)) : undefined;
}

/** A view of the document, not a copy. */
export function rawBytes(node: JsonNode): Uint8Array {
  return node.doc.bytes.subarray(startOffset(node), endOffset(node));
}

export function rawText(node: JsonNode): string {
  return node.doc.bytes.toString('utf8', startOffset(node), endOffset(node));
}

export function isTrue(node: JsonNode | undefined): boolean {
  return node !== undefined && node.doc.bytes[startOffset(node)] === 0x74;
}

export type JsonPath = readonly (string | number)[];

/** In the path of an edit: the place after a list's last element. */
export const APPEND_INDEX = -1;

/** `start.attributes.a\.b[0]`: the form that findings show and `--set` reads. */
export function formatJsonPath(path: JsonPath): string {
  return path
    .map((step, at) => {
      if (typeof step === 'number') return step === APPEND_INDEX ? '[]' : `[${step}]`;
      return (at === 0 ? '' : '.') + step.replace(/[\\.[\]=]/g, '\\$&');
    })
    .join('');
}

export function parseJsonPath(text: string): JsonPath | undefined {
  const path: (string | number)[] = [];
  let rest = text;
  while (rest !== '') {
    const index = /^\[(\d*)\]/.exec(rest);
    const name = index ? null : /^(\.?)((?:\\.|[^\\.[\]])+)/s.exec(rest);
    if (index && path.length > 0) path.push(index[1] === '' ? APPEND_INDEX : Number(index[1]));
    else if (name && (name[1] === '.') === path.length > 0) path.push((name[2] ?? '').replace(/\\(.)/gs, '$1'));
    else return undefined;
    rest = rest.slice((index ?? name)?.[0].length);
  }
  return path.length > 0 ? path : undefined;
}

/** The value at a path, or undefined; of duplicate members the last. */
export function nodeAtPath(root: JsonNode, path: JsonPath): JsonNode | undefined {
  let node: JsonNode | undefined = root;
  for (const step of path) {
    if (node === undefined) return undefined;
    node = typeof step === 'string' ? getMember(node, step) : Array.from(itemsOf(node))[step];
  }
  return node;
}

export function isPathWithin(path: JsonPath, prefix: JsonPath): boolean {
  return prefix.length <= path.length && prefix.every((step, at) => step === path[at]);
}

/** The values along a path, from the root to the deepest that exists; of duplicate keys the last value counts. */
export type NodeFinder = (path: JsonPath, from?: JsonNode) => readonly JsonNode[];

const MIN_REMEMBERED_CHILDREN = 32;

/** Finds values by their paths. Large containers are remembered, so that the list of a million neighbours is read once. */
export function createNodeFinder(doc: JsonDocument): NodeFinder {
  const remembered = new Map<number, Map<string | number, JsonNode>>();
  const childrenOf = (node: JsonNode): Map<string | number, JsonNode> => {
    const known = remembered.get(node.at);
    if (known) return known;
    const children = new Map(childEntries(node));
    if (children.size >= MIN_REMEMBERED_CHILDREN) remembered.set(node.at, children);
    return children;
  };
  return (path, from = rootOf(doc)) => {
    const nodes = [from];
    let node: JsonNode | undefined = from;
    for (const step of path) {
      node = childrenOf(node).get(step);
      if (!node) break;
      nodes.push(node);
    }
    return nodes;
  };
}

function* childEntries(node: JsonNode): Generator<readonly [step: string | number, child: JsonNode]> {
  let index = 0;
  for (const item of itemsOf(node)) yield [index++, item];
  for (const { key, value } of membersOf(node)) yield [key, value];
}

/** All members whose key appears more than once in its object, each once. The document is read once, however deep it is. */
export function* duplicateKeys(doc: JsonDocument): Generator<{ value: JsonNode; path: () => JsonPath }> {
  if (doc.hasDistinctKeys) return;
  for (let at = 0; at * 3 < doc.tape.length; at += 1) {
    const node = { doc, at };
    if (kindOf(node) !== 'object') continue;
    const seen = new Set<string>();
    const duplicates = new Map<string, JsonNode>();
    for (const { key, value } of membersOf(node)) {
      if (seen.has(key)) duplicates.set(key, value);
      seen.add(key);
    }
    for (const [key, value] of duplicates) yield { value, path: () => [...pathTo(node), key] };
  }
}

function pathTo(node: JsonNode): JsonPath {
  const path: (string | number)[] = [];
  for (let container = rootOf(node.doc); container.at !== node.at; ) {
    const next = [...childEntries(container)].find(([, child]) => endOffset(child) > startOffset(node));
    if (!next) throw new RangeError(`no value at ${startOffset(node)}`);
    path.push(next[0]);
    container = next[1];
  }
  return path;
}
