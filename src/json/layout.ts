import type { Buffer } from 'node:buffer';
import type { JsonDocument } from './document.ts';
import { endOf, type JsonNode, rootOf, startOf } from './node.ts';
import { scanString } from './scan.ts';

/** The document on one line: blanks between tokens removed, every token as it was written. */
export function compactJson(doc: JsonDocument): string {
  return Array.from(compactPieces(rootOf(doc))).join('');
}

/** A value on one line, piece by piece. */
export function compactPieces(node: JsonNode): Generator<string> {
  return layOut(node, () => '', ':');
}

// A document may be a million levels deep; its lines need not be that wide.
const DEEPEST_INDENT = 100;

/** The document indented by two spaces a level (at most 100 levels), every token as it was written. */
export function indentJson(doc: JsonDocument): string {
  return Array.from(indentPieces(rootOf(doc))).join('');
}

/** A value indented like that, piece by piece: with its blanks it may be many times as long as it was. */
export function indentPieces(node: JsonNode): Generator<string> {
  return layOut(node, (depth) => `\n${'  '.repeat(Math.min(depth, DEEPEST_INDENT))}`, ': ');
}

// Long enough that the writing of pieces costs nothing.
const PIECE = 64 * 1024;

// The text is known to be JSON, so the tokens alone tell where lines break, and no depth is too deep.
function* layOut(node: JsonNode, lineBreak: (depth: number) => string, colon: string): Generator<string> {
  const { bytes } = node.doc;
  const last = endOf(node);
  let out = '';
  let depth = 0;
  let empty = false;
  for (let at = startOf(node); at < last; ) {
    if (out.length > PIECE) {
      yield out;
      out = '';
    }
    const end = tokenEnd(bytes, at);
    const token = bytes.toString('utf8', at, end);
    at = end;
    if (token.trim() === '') continue;
    if (token === '}' || token === ']') {
      depth -= 1;
      if (!empty) out += lineBreak(depth);
    } else if (empty) {
      out += lineBreak(depth);
    }
    out += token === ':' ? colon : token;
    if (token === ',') out += lineBreak(depth);
    empty = token === '{' || token === '[';
    if (empty) depth += 1;
  }
  yield out;
}

function tokenEnd(bytes: Buffer, from: number): number {
  const first = bytes[from] ?? 0;
  if (first === 0x22) return scanString(bytes, from);
  let at = from + 1;
  if (isPunctuation(first)) return at;
  const blank = isBlank(first);
  for (let byte = bytes[at]; byte !== undefined && byte !== 0x22 && !isPunctuation(byte); byte = bytes[at]) {
    if (isBlank(byte) !== blank) break;
    at += 1;
  }
  return at;
}

function isPunctuation(byte: number): boolean {
  return byte === 0x7b || byte === 0x7d || byte === 0x5b || byte === 0x5d || byte === 0x2c || byte === 0x3a;
}

function isBlank(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
