import { Buffer } from 'node:buffer';
import {
  APPEND_INDEX,
  endOffset,
  formatJsonPath,
  getMember,
  itemsOf,
  type JsonMember,
  type JsonNode,
  type JsonPath,
  kindName,
  kindOf,
  membersOf,
  startOffset,
} from './json-node.ts';

export interface NewMember {
  readonly key: string;
  readonly text: StringOrBytes;
}

/** The splices that set members of an object: existing ones in place, the last of duplicates alone, and new ones at the end in order. */
export function splicesToSetMembers(object: JsonNode, entries: readonly NewMember[]): Splice[] {
  const existing = [...membersOf(object)];
  const replaced = entries.flatMap(({ key, text }) => replaceMember(existing, key, text));
  const added = entries
    .filter(({ key }) => !existing.some((member) => member.key === key))
    .map(({ key, text }) => [`${JSON.stringify(key)}:`, text]);
  return [...replaced, ...insertBeforeEnd(object, existing.at(-1)?.value, added)];
}

/** Thrown for a path that does not fit this document: through a scalar, or past the end of a list. */
export class JsonPathError extends Error {
  override readonly name = 'JsonPathError';
}

/** The splices that set the value at a path; missing objects are created. Throws JsonPathError for a path through another kind of value. */
export function splicesToSetPath(root: JsonNode, path: JsonPath, text: StringOrBytes): Splice[] {
  const [step, ...rest] = path;
  if (step === undefined) return [{ start: startOffset(root), end: endOffset(root), text }];
  if (typeof step === 'string') {
    if (kindOf(root) !== 'object') throw new JsonPathError(`${kindName(root)} has no field "${step}"`);
    const old = getMember(root, step);
    if (old)
      return rest.length > 0 ? splicesToSetPath(old, rest, text) : splicesToSetMembers(root, [{ key: step, text }]);
    const last = [...membersOf(root)].at(-1)?.value;
    return insertBeforeEnd(root, last, [[`${JSON.stringify(step)}:`, ...wrapInPath(rest, text)]]);
  }
  if (kindOf(root) !== 'list') throw new JsonPathError(`${kindName(root)} has no element ${formatJsonPath([step])}`);
  const items = [...itemsOf(root)];
  const old = items[step];
  if (old) return splicesToSetPath(old, rest, text);
  const { length } = items;
  if (step !== APPEND_INDEX && step !== length)
    throw new JsonPathError(`the array has ${length} element${length === 1 ? '' : 's'}; write [] to append one`);
  return insertBeforeEnd(root, items.at(-1), [wrapInPath(rest, text)]);
}

function replaceMember(existing: readonly JsonMember[], key: string, text: StringOrBytes): Splice[] {
  const last = existing.findLast((old) => old.key === key);
  return existing.flatMap((old, at) => {
    if (old.key !== key) return [];
    if (old === last) return [{ start: startOffset(old.value), end: endOffset(old.value), text }];
    const next = existing[at + 1];
    return next ? [{ start: startOffset(old.keyNode), end: startOffset(next.keyNode), text: '' }] : [];
  });
}

function insertBeforeEnd(
  container: JsonNode,
  last: JsonNode | undefined,
  added: readonly (readonly StringOrBytes[])[],
): Splice[] {
  const at = last ? endOffset(last) : startOffset(container) + 1;
  const splices: Splice[] = [];
  for (const [index, texts] of added.entries()) {
    if (last || index > 0) splices.push({ start: at, end: at, text: ',' });
    for (const text of texts) splices.push({ start: at, end: at, text });
  }
  return splices;
}

function wrapInPath(path: JsonPath, text: StringOrBytes): StringOrBytes[] {
  const before = path.map((step) => {
    if (typeof step === 'string') return `{${JSON.stringify(step)}:`;
    if (step > 0) throw new JsonPathError(`there is no array yet for ${formatJsonPath([step])}; write [] to start one`);
    return '[';
  });
  const after = path.map((step) => (typeof step === 'string' ? '}' : ']')).reverse();
  return [before.join(''), text, after.join('')];
}

/** JSON text: bytes if it is too large for a string or is part of a parsed document. */
export type StringOrBytes = string | Uint8Array;

export interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: StringOrBytes;
}

/** The bytes with all splices made; every byte outside of them stays. Splices may touch but not overlap. */
export function applySplices(bytes: Buffer, splices: readonly Splice[]): Buffer {
  // A stable sort: insertions at one offset keep the order of the requests.
  const ordered = [...splices].sort((left, right) => left.start - right.start);
  const parts: StringOrBytes[] = [];
  let at = 0;
  for (const { start, end, text } of ordered) {
    if (start > at) parts.push(bytes.subarray(at, start));
    const previous = parts.at(-1);
    // One text instead of several that follow each other is converted at once.
    if (typeof text === 'string' && typeof previous === 'string') parts[parts.length - 1] = previous + text;
    else parts.push(text);
    at = end;
  }
  parts.push(bytes.subarray(at));
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
}
