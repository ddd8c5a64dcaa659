import { endOf, itemsOf, type JsonMember, type JsonNode, kindName, kindOf, membersOf, startOf } from './node.ts';
import { APPEND, formatPath, type Path } from './path.ts';
import type { Splice } from './splice.ts';

/** A member to be set: its value is JSON text. */
export interface NewMember {
  readonly key: string;
  readonly text: string;
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
      added.map(({ key, text }) => `${JSON.stringify(key)}:${text}`),
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
export function setPath(root: JsonNode, path: Path, text: string): Splice[] {
  const [step, ...rest] = path;
  if (step === undefined) return [{ start: startOf(root), end: endOf(root), text }];
  if (typeof step === 'string') {
    if (kindOf(root) !== 'object') throw new PathError(`${kindName(root)} has no member "${step}"`);
    const old = [...membersOf(root)].findLast(({ key }) => key === step);
    if (!old || rest.length === 0) return setMembers(root, [{ key: step, text: newValue(rest, text) }]);
    return setPath(old.value, rest, text);
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

function replaceMember(present: readonly JsonMember[], key: string, text: string): Splice[] {
  const last = present.findLast((old) => old.key === key);
  return present.flatMap((old, at) => {
    if (old.key !== key) return [];
    if (old === last) return [{ start: startOf(old.value), end: endOf(old.value), text }];
    const next = present[at + 1];
    return next ? [{ start: startOf(old.keyNode), end: startOf(next.keyNode), text: '' }] : [];
  });
}

function insertBeforeEnd(container: JsonNode, last: JsonNode | undefined, texts: readonly string[]): Splice[] {
  if (texts.length === 0) return [];
  const at = last ? endOf(last) : startOf(container) + 1;
  return [{ start: at, end: at, text: (last ? ',' : '') + texts.join(',') }];
}

function newValue(path: Path, text: string): string {
  return path.reduceRight<string>((inner, step) => {
    if (typeof step === 'string') return `{${JSON.stringify(step)}:${inner}}`;
    if (step > 0) throw new PathError(`there is no list yet for ${formatPath([step])}; write [] to start one`);
    return `[${inner}]`;
  }, text);
}
