import { Buffer } from 'node:buffer';
import type { Issue, Place } from '../errors.ts';
import { flagName } from '../fields/field.ts';
import type { StringOrBytes } from '../json/edit.ts';
import { applySplices, JsonPathError, splicesToSetMembers, splicesToSetPath } from '../json/edit.ts';
import type { JsonDocument, JsonMember, JsonNode, JsonPath } from '../json/json-node.ts';
import {
  APPEND_INDEX,
  endOffset,
  formatJsonPath,
  isPathWithin,
  itemsOf,
  kindOf,
  membersOf,
  nodeAtPath,
  rootOf,
  startOffset,
} from '../json/json-node.ts';
import { parseJson } from '../json/parse-json.ts';
import type { FlagTarget } from '../operations/operation.ts';
import { isIssue, type JsonSource, objectIssue, placeInSource } from './json-source.ts';

/** The origin of a value: its label in messages, and its source if the value is a JSON document. */
export interface ValueOrigin {
  readonly label: string;
  readonly source?: JsonSource;
  /** The value within the source; all of it if absent. */
  readonly node?: JsonNode | undefined;
  readonly path?: JsonPath | undefined;
  /** Where in the value the source stands; the whole value if absent. */
  readonly inside?: JsonPath;
  /** The argument, if its value differs from run to run: `random`, or an age. */
  readonly argument?: string;
  /** svc made the value: the same command has another one in its next run. */
  readonly isGenerated?: true;
}

/** A file of `--attach`. Until `insertAttachments`, a placeholder stands for its content, so that no step copies it. */
export interface Attachment {
  readonly part: string;
  readonly placeholder: string;
  readonly bytes: Buffer;
  readonly encoding: 'base64' | 'text';
}

export interface Edit {
  readonly path: JsonPath;
  readonly text: StringOrBytes;
  readonly origin: ValueOrigin;
  /** The origin of each element, if the value is an array built from several flags. */
  readonly items?: readonly ValueOrigin[];
  readonly attachments?: readonly Attachment[];
}

export type StdinUse = 'empty' | 'unread';

export interface Draft {
  readonly doc: JsonDocument;
  readonly base: JsonSource | undefined;
  readonly edits: readonly Edit[];
  /** Of inputs that could not become part of it; `more` counts further ones. */
  readonly issues: readonly (Issue & { readonly more?: number | undefined })[];
  readonly stdinUse?: StdinUse | undefined;
}

/** A draft of a source, or of JSON text that no user gave. */
export function createDraft(base: JsonSource | string): Draft {
  const source = typeof base === 'string' ? { doc: parseJson(base), base: undefined } : { doc: base.doc, base };
  return { ...source, edits: [], issues: [] };
}

/** The draft with fields of the object that flags fill set at once; every other byte stays. */
export function setDraftFields(draft: Draft, target: FlagTarget, results: readonly (Edit | Issue)[]): Draft {
  if (results.length === 0) return draft;
  const edits = results.filter((result): result is Edit => !isIssue(result));
  const object = nodeAtPath(rootOf(draft.doc), target.path);
  const isObject = object !== undefined && kindOf(object) === 'object';
  const targetIssue = edits.length > 0 && !isObject && draft.base ? objectIssue(draft.base, target) : undefined;
  const issues = [...draft.issues, ...(targetIssue ? [targetIssue] : []), ...results.filter(isIssue)];
  if (edits.length === 0 || !isObject) return { ...draft, issues };
  const members = edits.map(({ path, text }) => ({ key: String(path.at(-1)), text }));
  const doc = parseJson(applySplices(draft.doc.bytes, splicesToSetMembers(object, members)));
  return { ...draft, doc, issues, edits: [...draft.edits, ...edits] };
}

/** The draft with the values at any paths set; a path that does not fit the document is an issue. */
export function setDraftPaths(draft: Draft, results: readonly (Edit | Issue)[]): Draft {
  return results.reduce(setPath, draft);
}

function setPath(draft: Draft, edit: Edit | Issue): Draft {
  if (isIssue(edit)) return { ...draft, issues: [...draft.issues, edit] };
  const root = rootOf(draft.doc);
  try {
    const doc = parseJson(applySplices(draft.doc.bytes, splicesToSetPath(root, edit.path, edit.text)));
    return { ...draft, doc, edits: [...draft.edits, { ...edit, path: resolveAppends(root, edit.path) }] };
  } catch (error) {
    if (!(error instanceof JsonPathError)) throw error;
    const issue = { path: formatJsonPath(edit.path), at: { label: edit.origin.label }, message: error.message };
    return { ...draft, issues: [...draft.issues, issue] };
  }
}

// An element that is appended is found by its index later.
function resolveAppends(root: JsonNode, path: JsonPath): JsonPath {
  const indexAt = (depth: number): number => {
    const list = nodeAtPath(root, path.slice(0, depth));
    return list ? Array.from(itemsOf(list)).length : 0;
  };
  return path.map((step, depth) => (step === APPEND_INDEX ? indexAt(depth) : step));
}

/** Sorts the fields that were added to the base in the order of `fields`, unknown ones last. Every byte of the base stays. */
export function orderAddedFields(draft: Draft, { path, fields }: FlagTarget): Draft {
  if (draft.edits.length === 0) return draft;
  const membersIn = (doc: JsonDocument | undefined): JsonMember[] => {
    const object = doc && nodeAtPath(rootOf(doc), path);
    return object ? [...membersOf(object)] : [];
  };
  const baseKeys = new Set(membersIn(draft.base?.doc).map(({ key }) => key));
  // They follow the base, with nothing but commas between them.
  const added = membersIn(draft.doc).filter(({ key }) => !baseKeys.has(key));
  const names = Object.keys(fields);
  const rankOf = ({ key }: JsonMember): number => (Object.hasOwn(fields, key) ? names.indexOf(key) : names.length);
  const ordered = added.toSorted((left, right) => rankOf(left) - rankOf(right));
  const [first, last] = [added[0], added.at(-1)];
  if (!first || !last || ordered.every((member, index) => member === added[index])) return draft;
  const { bytes } = draft.doc;
  const texts = ordered.flatMap(({ keyNode, value }, index) => [
    Buffer.from(index === 0 ? '' : ','),
    bytes.subarray(startOffset(keyNode), endOffset(value)),
  ]);
  const splice = { start: startOffset(first.keyNode), end: endOffset(last.value), text: Buffer.concat(texts) };
  return { ...draft, doc: parseJson(applySplices(bytes, [splice])) };
}

/** The place of the value at a path; for a missing value, that of its object or its flag. */
export function placeInDraft(draft: Draft, path: JsonPath): Place {
  const { label, source, node } = originInDraft(draft, path);
  return source ? placeInSource(source, node) : { label };
}

/** The origin of the value at a path, or of the nearest value around it. */
export function originInDraft({ base, edits }: Draft, path: JsonPath): ValueOrigin {
  const edit =
    edits.findLast((one) => isPathWithin(path, one.path)) ??
    // An object or array that only edits inside it created.
    (base && nodeAtPath(rootOf(base.doc), path)
      ? undefined
      : edits.findLast((one) => path.length > 0 && isPathWithin(one.path, path)));
  if (!edit)
    return base
      ? nestedOrigin({ label: base.label, source: base }, path)
      : { label: `--${flagName(String(path.at(-1) ?? 'file'))}` };
  const [first, ...inner] = path.slice(edit.path.length);
  const item = typeof first === 'number' ? edit.items?.[first] : undefined;
  return item ? nestedOrigin(item, inner) : nestedOrigin(edit.origin, path.slice(edit.path.length));
}

function nestedOrigin(outer: ValueOrigin, path: JsonPath): ValueOrigin {
  const { label, source, node, inside, path: outerPath } = outer;
  if (!source) return outer;
  if (inside)
    return isPathWithin(path, inside) ? nestedOrigin({ label, source }, path.slice(inside.length)) : { label };
  return { label, source, node: source.find(path, node).at(-1), path: outerPath && [...outerPath, ...path] };
}
