import { flagName } from '../fields/field.ts';
import { type JsonDocument, parseJson } from '../json/document.ts';
import { setMembers, setPath } from '../json/edit.ts';
import { kindOf, rootOf } from '../json/node.ts';
import { isWithin, nodeAt, type Path } from '../json/path.ts';
import { splice } from '../json/splice.ts';
import type { Edit, Origin } from './edit.ts';
import { placeInSource, type Source } from './source.ts';

/** A body on its way: its text so far, what it was based on, and what was put into it. */
export interface Draft {
  readonly doc: JsonDocument;
  readonly base: Source | undefined;
  readonly edits: readonly Edit[];
}

/** A draft of a source, or, without one, of an object with nothing in it. */
export function draftOf(base: Source | undefined, empty: string): Draft {
  return { doc: base?.doc ?? parseJson(empty), base, edits: [] };
}

/** The draft with members of the object at `target` set, in one go; every other byte stays. */
export function setAll(draft: Draft, target: Path, edits: readonly Edit[]): Draft {
  const object = nodeAt(rootOf(draft.doc), target);
  if (!object || kindOf(object) !== 'object' || edits.length === 0) return draft;
  const members = edits.map(({ path, text }) => ({ key: String(path.at(-1)), text }));
  return changed(draft, splice(draft.doc.bytes, setMembers(object, members)), edits);
}

/** The draft with the value at one path set. Throws PathError where the path leads nowhere. */
export function setOne(draft: Draft, edit: Edit): Draft {
  return changed(draft, splice(draft.doc.bytes, setPath(rootOf(draft.doc), edit.path, edit.text)), [edit]);
}

/**
 * Where the value at a path was given: `--seed`, `tools.json:3:1`, `body.json:12:7`. Of a value that is missing, the
 * object it should be in, or the flag that gives it.
 */
export function placeInDraft(draft: Draft, path: Path): string {
  const { label, source, node } = originInDraft(draft, path);
  return source ? placeInSource(source, node) : label;
}

/** Where the value at a path came from, or where the nearest value around it did. */
export function originInDraft({ base, edits }: Draft, path: Path): Origin {
  const edit = edits.findLast((one) => isWithin(path, one.path));
  if (!edit)
    return base
      ? innerOrigin({ label: base.label, source: base }, path)
      : { label: `--${flagName(String(path.at(-1) ?? 'file'))}` };
  const [first, ...inner] = path.slice(edit.path.length);
  const item = typeof first === 'number' ? edit.items?.[first] : undefined;
  return item ? innerOrigin(item, inner) : innerOrigin(edit.origin, path.slice(edit.path.length));
}

function innerOrigin(outer: Origin, path: Path): Origin {
  const { label, source, node } = outer;
  if (!source) return outer;
  return { label, source, node: source.find(path, node).at(-1) };
}

function changed({ base, edits }: Draft, bytes: Uint8Array, more: readonly Edit[]): Draft {
  return { doc: parseJson(bytes), base, edits: [...edits, ...more] };
}
