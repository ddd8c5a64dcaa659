import { Buffer } from 'node:buffer';
import { Failure, type Issue } from '../errors.ts';
import { type JsonDocument, parseJson } from '../json/document.ts';
import { type Find, finderIn } from '../json/finder.ts';
import { JsonError } from '../json/json-error.ts';
import { type JsonNode, rootOf, startOf } from '../json/node.ts';
import { type Position, positionOf, positionsIn } from '../json/position.ts';
import { hasMark, utf8 } from '../json/utf8.ts';

/** JSON a user gave, and what to call it in messages: a file as typed, `stdin`, or a flag. */
export interface Source {
  readonly label: string;
  readonly doc: JsonDocument;
  /** Finds values in it for messages. */
  readonly find: Find;
  /** Line and column of an offset. */
  readonly position: (offset: number) => Position;
}

/** The source of some bytes, or what is wrong with them and where: line and column, for bad UTF-8 the byte. */
export function readSource(label: string, bytes: Uint8Array | string): Source | Issue {
  try {
    const doc = parseJson(bytes);
    return { label, doc, find: finderIn(doc), position: positionsIn(doc.bytes) };
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    return { path: '', at: placeOf(label, bytes, error), message: `not JSON: ${error.message}` };
  }
}

/** The text of some bytes. Throws Failure `body` where they are not UTF-8. */
export function readText(label: string, bytes: Uint8Array): string {
  try {
    return utf8(bytes).toString();
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw new Failure('body', `${label} is not text: ${error.message} at byte ${error.offset}`);
  }
}

/** The text less one line end at its end: what a shell's `echo` or an editor adds to every file. */
export function withoutFinalNewline(text: string): string {
  return text.replace(/\r?\n$/, '');
}

/** True for what readSource found wrong. */
export function isIssue(value: object): value is Issue {
  return 'message' in value;
}

/** `body.json:12:7`, the place of a value in its source. */
export function placeInSource({ label, doc, position }: Source, node: JsonNode = rootOf(doc)): string {
  const { line, column } = position(startOf(node));
  return `${label}:${line}:${column}`;
}

function placeOf(label: string, bytes: Uint8Array | string, error: JsonError): string {
  if (error.message === 'invalid UTF-8') return `${label}: byte ${error.offset}`;
  const all = Buffer.from(bytes);
  const { line, column } = positionOf(all.subarray(hasMark(all) ? 3 : 0), error.offset);
  return `${label}:${line}:${column}`;
}
