import type { Buffer } from 'node:buffer';
import { endOffset, type JsonNode, startOffset } from './json-node.ts';
import { scanString } from './parse-json.ts';

/** JSON text that is already written, so that a number or a whole document can be placed without reading it. */
export class RawJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type JsonValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | RawJson
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue | undefined };

/** True for an object of JSON. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The compact JSON text of a value that svc built; undefined properties are left out. */
export function writeJson(value: JsonValue): string {
  if (value instanceof RawJson) return value.text;
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(writeJson).join(',')}]`;
  const members = Object.entries(value).flatMap(([key, item]) =>
    item === undefined ? [] : [`${JSON.stringify(key)}:${writeJson(item)}`],
  );
  return `{${members.join(',')}}`;
}

export function compactJson(node: JsonNode): string {
  return Array.from(compactChunks(node)).join('');
}

export function compactChunks(node: JsonNode): Generator<string> {
  return formatTokens(node, () => '', ':');
}

const MAX_INDENT_LEVELS = 100;

export function indentJson(node: JsonNode): string {
  return Array.from(indentChunks(node)).join('');
}

/** The same in chunks: with whitespace it may be many times as long as it was. */
export function indentChunks(node: JsonNode): Generator<string> {
  return formatTokens(node, (depth) => `\n${'  '.repeat(Math.min(depth, MAX_INDENT_LEVELS))}`, ': ');
}

const CHUNK_CHARS = 64 * 1024;

// The text is known to be JSON, so tokens alone determine where lines break, at any depth.
function* formatTokens(node: JsonNode, lineBreak: (depth: number) => string, colon: string): Generator<string> {
  const { bytes } = node.doc;
  const last = endOffset(node);
  let out = '';
  let depth = 0;
  let isContainerEmpty = false;
  for (let at = startOffset(node); at < last; ) {
    const end = tokenEnd(bytes, at);
    const token = bytes.toString('utf8', at, end);
    at = end;
    if (token.trim() === '') continue;
    // A key and its colon stay in one chunk.
    if (out.length > CHUNK_CHARS && token !== ':') {
      yield out;
      out = '';
    }
    if (token === '}' || token === ']') {
      depth -= 1;
      if (!isContainerEmpty) out += lineBreak(depth);
    } else if (isContainerEmpty) {
      out += lineBreak(depth);
    }
    out += token === ':' ? colon : token;
    if (token === ',') out += lineBreak(depth);
    isContainerEmpty = token === '{' || token === '[';
    if (isContainerEmpty) depth += 1;
  }
  yield out;
}

// Tokens of one byte are 1, strings 2, whitespace 3; all others are numbers and literals.
const byteKinds = new Uint8Array(256);
for (const [at, bytes] of ['{}[],:', '"', ' \n\r\t'].entries())
  for (const byte of bytes) byteKinds[byte.charCodeAt(0)] = at + 1;

/** The offset after the token or whitespace at `from`. Throws JsonError for a malformed string; other tokens are not checked. */
export function tokenEnd(bytes: Buffer, from: number): number {
  const kind = byteKinds[bytes[from] ?? 0];
  if (kind === 2) return scanString(bytes, from);
  return kind === 1 ? from + 1 : runEnd(bytes, from, kind);
}

export function scalarEnd(bytes: Buffer, from: number): number {
  return runEnd(bytes, from, 0);
}

function runEnd(bytes: Buffer, from: number, kind: number | undefined): number {
  let at = from;
  while (at < bytes.length && byteKinds[bytes[at] ?? 0] === kind) at += 1;
  return at;
}
