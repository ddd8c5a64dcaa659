import { flagName } from '../fields/field.ts';
import { applySplices, type StringOrBytes, splicesToSetMembers, splicesToSetPath } from '../json/edit.ts';
import {
  APPEND_INDEX,
  endOffset,
  isPathWithin,
  itemsOf,
  type JsonDocument,
  type JsonMember,
  type JsonNode,
  type JsonPath,
  kindOf,
  membersOf,
  nodeAtPath,
  rootOf,
  startOffset,
} from '../json/json-node.ts';
import { parseJson } from '../json/parse-json.ts';
import type { FlagTarget } from '../operations/operation.ts';
import type { Attachment } from './chat/attachment.ts';
import { type JsonSource, locationInSource } from './json-source.ts';

/** The origin of a value: its label in messages, and its source if the value is a JSON document. */
export interface ValueOrigin {
  readonly label: string;
  readonly source?: JsonSource;
  /** The value within the source; all of it if absent. */
  readonly node?: JsonNode | undefined;
  /** The path of the value in its source, if it differs from the one in the body. */
  readonly path?: JsonPath | undefined;
  /** The argument, if its value differs from run to run: `random`, or an age. */
  readonly argument?: string;
}

/** A value to put into the body: JSON, at a path. */
export interface Edit {
  readonly path: JsonPath;
  readonly text: StringOrBytes;
  readonly origin: ValueOrigin;
  /** The origin of each element, if the value is an array built from several flags. */
  readonly items?: readonly ValueOrigin[];
  /** The files for which the text has placeholders. */
  readonly attachments?: readonly Attachment[];
}

/** The reason why stdin provided no body: it was empty, or not read because flags were given. */
export type StdinUse = 'empty' | 'unread';

/** A body being built: its text so far, its base, and the edits made to it. */
export interface Draft {
  readonly doc: JsonDocument;
  readonly base: JsonSource | undefined;
  readonly edits: readonly Edit[];
  readonly stdinUse?: StdinUse | undefined;
}

/** A draft of a source, or, without one, of the JSON text `empty`. */
export function createDraft(base: JsonSource | undefined, empty: string, stdinUse?: StdinUse): Draft {
  return { doc: base?.doc ?? parseJson(empty), base, edits: [], stdinUse };
}

/** The draft with fields of the object at `target` set at once; every other byte stays. */
export function setDraftFields(draft: Draft, target: JsonPath, edits: readonly Edit[]): Draft {
  const object = nodeAtPath(rootOf(draft.doc), target);
  if (!object || kindOf(object) !== 'object' || edits.length === 0) return draft;
  const members = edits.map(({ path, text }) => ({ key: String(path.at(-1)), text }));
  return withEdits(draft, applySplices(draft.doc.bytes, splicesToSetMembers(object, members)), edits);
}

/** The draft with the value at one path set. Throws JsonPathError if the path does not fit the document. */
export function setDraftPath(draft: Draft, edit: Edit): Draft {
  const root = rootOf(draft.doc);
  const bytes = applySplices(draft.doc.bytes, splicesToSetPath(root, edit.path, edit.text));
  return withEdits(draft, bytes, [{ ...edit, path: resolveAppends(root, edit.path) }]);
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
    return object && kindOf(object) === 'object' ? [...membersOf(object)] : [];
  };
  const baseKeys = new Set(membersIn(draft.base?.doc).map(({ key }) => key));
  const added = membersIn(draft.doc).filter(({ key }) => !baseKeys.has(key));
  if (added.length < 2) return draft;
  const ranks = new Map(Object.keys(fields).map((name, rank) => [name, rank]));
  const rankOf = (key: string): number => ranks.get(key) ?? ranks.size;
  const ordered = added.toSorted((left, right) => rankOf(left.key) - rankOf(right.key));
  if (ordered.every((member, index) => member === added[index])) return draft;
  const { bytes } = draft.doc;
  const splices = added.map((member, index) => {
    const { start, end } = memberRange(ordered[index] ?? member);
    return { ...memberRange(member), text: bytes.subarray(start, end) };
  });
  return { ...draft, doc: parseJson(applySplices(bytes, splices)) };
}

/** The location of the value at a path: `--seed`, `body.json:12:7`; for a missing value, its object or its flag. */
export function locationInDraft(draft: Draft, path: JsonPath): string {
  const { label, source, node } = originInDraft(draft, path);
  return source ? locationInSource(source, node) : label;
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

function memberRange({ keyNode, value }: JsonMember): { start: number; end: number } {
  return { start: startOffset(keyNode), end: endOffset(value) };
}

function nestedOrigin(outer: ValueOrigin, path: JsonPath): ValueOrigin {
  const { label, source, node, path: outerPath } = outer;
  if (!source) return outer;
  return { label, source, node: source.find(path, node).at(-1), path: outerPath && [...outerPath, ...path] };
}

function withEdits(draft: Draft, bytes: Uint8Array, newEdits: readonly Edit[]): Draft {
  return { ...draft, doc: parseJson(bytes), edits: [...draft.edits, ...newEdits] };
}
