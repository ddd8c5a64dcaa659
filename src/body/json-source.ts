import { Buffer } from 'node:buffer';
import { Failure, type Issue, type Place } from '../errors.ts';
import { foreignFormat } from '../files/foreign-formats.ts';
import { JsonError, resemblance } from '../json/json-error.ts';
import type { JsonDocument, JsonNode, JsonPath, NodeFinder } from '../json/json-node.ts';
import {
  createNodeFinder,
  formatJsonPath,
  getMember,
  kindName,
  kindOf,
  nodeAtPath,
  rootOf,
  startOffset,
} from '../json/json-node.ts';
import { parseJson } from '../json/parse-json.ts';
import { createPositionLookup, decodeUtf8, hasByteOrderMark, positionAt, type TextPosition } from '../json/utf8.ts';
import { writeJson } from '../json/write-json.ts';
import type { FlagTarget } from '../operations/operation.ts';
import { formatPlace } from '../output/failure-text.ts';

/** JSON a user gave, and what to call it in messages: a file as typed, `stdin`, or a flag. */
export interface JsonSource {
  readonly label: string;
  readonly doc: JsonDocument;
  readonly find: NodeFinder;
  readonly position: (offset: number) => TextPosition;
}

export function parseJsonSource(label: string, bytes: Uint8Array | string): JsonSource | Issue {
  try {
    const doc = parseJson(bytes);
    return { label, doc, find: createNodeFinder(doc), position: createPositionLookup(doc.bytes) };
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    const { name, hint } = foreignFormat(Buffer.from(bytes.slice(0, 1024))) ?? {};
    // The reader of JSON names what is compressed.
    if (name !== undefined && !name.startsWith('compressed'))
      return syntaxIssue(label, bytes, error.offset, `is ${name}: ${hint}`);
    const issue = syntaxIssue(label, bytes, error.offset, `invalid JSON: ${error.message}`);
    return { ...issue, resembles: resemblance(error.unexpected, issue.at ?? {}) };
  }
}

/** The text of some bytes. Throws Failure `body` if they are not UTF-8. */
export function decodeUtf8Text(label: string, bytes: Uint8Array): string {
  const { name, hint } = foreignFormat(Buffer.from(bytes.subarray(0, 1024))) ?? {};
  if (name !== undefined && !name.startsWith('compressed')) throw new Failure('body', `${label} is ${name}`, { hint });
  try {
    return decodeUtf8(bytes).toString();
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    const place = error.offset === 0 ? '' : ` at ${formatPlace(errorPlace(label, bytes, error.offset))}`;
    throw new Failure('body', `${label} is not text: ${error.message}${place}`);
  }
}

/** As decodeUtf8Text, without one final line break, as a shell's `echo` or an editor adds it. */
export function decodeLine(label: string, bytes: Uint8Array): string {
  return decodeUtf8Text(label, bytes).replace(/\r?\n$/, '');
}

export function isIssue(value: object): value is Issue {
  return 'message' in value;
}

export function placeInSource({ label, doc, position }: JsonSource, node: JsonNode = rootOf(doc)): Place {
  return { label, ...position(startOffset(node)) };
}

function errorPlace(label: string, bytes: Uint8Array | string, offset: number): Place {
  const all = Buffer.from(bytes);
  return { label, ...positionAt(hasByteOrderMark(all) ? all.subarray(3) : all, offset) };
}

/** The issue of a text that cannot be parsed; its excerpt leaves out a text that has secret fields. */
export function syntaxIssue(label: string, bytes: Uint8Array | string, offset: number, message: string): Issue {
  const all = Buffer.from(bytes);
  const start = offset + (hasByteOrderMark(all) ? 3 : 0);
  const at = all.lastIndexOf('\n', start - 1) + 1;
  const [line = ''] = all.toString('utf8', at).split(/\r?\n/, 1);
  const excerpt =
    all.includes('salt') || start === 0 ? {} : { excerpt: { line, offset: all.toString('utf8', at, start).length } };
  return { path: '', at: errorPlace(label, bytes, offset), message, ...excerpt };
}

/** Why flags cannot be added to the object at `target` of a source, or to the source itself; undefined if they can. */
export function objectIssue(source: JsonSource, target: FlagTarget = { path: [], fields: {} }): Issue | undefined {
  const { path } = target;
  const root = rootOf(source.doc);
  const value = nodeAtPath(root, path);
  if (value && kindOf(value) === 'object') return undefined;
  const message = value ? `must be an object, not ${kindName(value)}` : `is required${nestingHint(root, path, target)}`;
  return { path: formatJsonPath(path), at: placeInSource(source, value), message };
}

/** The same source, or why its value is not an object. */
export function requireObject(source: JsonSource | Issue): JsonSource | Issue {
  return isIssue(source) ? source : (objectIssue(source) ?? source);
}

/** Where the fields belong, if the missing value at `path` is the object that flags fill and the body has fields of it. */
export function nestingHint(root: JsonNode, path: JsonPath, target: FlagTarget): string {
  const isNested =
    path.length === 1 && path[0] === target.path[0] && Object.keys(target.fields).some((name) => getMember(root, name));
  return isNested ? `; write {"${path[0]}":{...}}` : '';
}

export function emptyBodyJson({ path }: FlagTarget): string {
  return path.reduceRight<string>((inner, step) => `{${writeJson(String(step))}:${inner}}`, '{}');
}
