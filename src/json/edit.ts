import { endOf, itemsOf, type JsonMember, type JsonNode, kindName, kindOf, membersOf, startOf } from './node.ts';
import { APPEND, formatPath, type Path } from './path.ts';
import type { Splice, Text } from './splice.ts';

/** A member to be set: its value is JSON. */
export interface NewMember {
  readonly key: string;
  readonly text: Text;
}

/**
 * The splices that set members of an object: an existing one in place (of duplicates the last is replaced and the
 * others removed), new ones before the closing brace in the order given. No other byte changes.
 */
export function setMembers(object: JsonNode, entries: readonly NewMember[]): Splice[] {
  const present = [...membersOf(object)];
  const added = entries.filter(({ key }) => !present.some((old) => old.key === key));
  return [
    ...entries.flatMap(({ key, text }) => replaceMember(present, key, text)),
    ...insertBeforeEnd(
      object,
      present.at(-1)?.value,
      added.map(({ key, text }) => [`${JSON.stringify(key)}:`, text]),
    ),
  ];
}

/** Thrown for a path that leads nowhere in this document: through a scalar, or past the end of a list. */
export class PathError extends Error {
  override readonly name = 'PathError';
}

/**
 * The splices that set the value at a path below `root`. Objects on the way that are missing are created, and a list
 * may grow by one at its end. Throws PathError where the path goes through another kind of value.
 */
export function setPath(root: JsonNode, path: Path, text: Text): Splice[] {
  const [step, ...rest] = path;
  if (step === undefined) return [{ start: startOf(root), end: endOf(root), text }];
  if (typeof step === 'string') {
    if (kindOf(root) !== 'object') throw new PathError(`${kindName(root)} has no member "${step}"`);
    const present = [...membersOf(root)];
    const old = present.findLast(({ key }) => key === step);
    if (old) return rest.length > 0 ? setPath(old.value, rest, text) : setMembers(root, [{ key: step, text }]);
    return insertBeforeEnd(root, present.at(-1)?.value, [[`${JSON.stringify(step)}:`, ...newValue(rest, text)]]);
  }
  if (kindOf(root) !== 'list') throw new PathError(`${kindName(root)} has no element ${formatPath([step])}`);
  const items = [...itemsOf(root)];
  const old = items[step];
  if (old) return setPath(old, rest, text);
  if (step !== APPEND && step !== items.length) {
    throw new PathError(`the list has ${items.length} elements; write [] to append one`);
  }
  return insertBeforeEnd(root, items.at(-1), [newValue(rest, text)]);
}

function replaceMember(present: readonly JsonMember[], key: string, text: Text): Splice[] {
  const last = present.findLast((old) => old.key === key);
  return present.flatMap((old, at) => {
    if (old.key !== key) return [];
    if (old === last) return [{ start: startOf(old.value), end: endOf(old.value), text }];
    const next = present[at + 1];
    return next ? [{ start: startOf(old.keyNode), end: startOf(next.keyNode), text: '' }] : [];
  });
}

function insertBeforeEnd(
  container: JsonNode,
  last: JsonNode | undefined,
  added: readonly (readonly Text[])[],
): Splice[] {
  const at = last ? endOf(last) : startOf(container) + 1;
  const pieces = added.flatMap((one, place) => (last || place > 0 ? [',', ...one] : one));
  return joined(pieces).map((text) => ({ start: at, end: at, text }));
}

// Strings that follow each other are one; bytes may be many and stay where they are.
function joined(pieces: readonly Text[]): Text[] {
  const texts: Text[] = [];
  for (const piece of pieces) {
    const last = texts.at(-1);
    if (typeof piece === 'string' && typeof last === 'string') texts[texts.length - 1] = last + piece;
    else texts.push(piece);
  }
  return texts;
}

// The text, and around it the objects and lists that the rest of the path asks for.
function newValue(path: Path, text: Text): Text[] {
  const before = path.map((step) => {
    if (typeof step === 'string') return `{${JSON.stringify(step)}:`;
    if (step > 0) throw new PathError(`there is no list yet for ${formatPath([step])}; write [] to start one`);
    return '[';
  });
  const after = path.map((step) => (typeof step === 'string' ? '}' : ']')).reverse();
  return [before.join(''), text, after.join('')];
}
