import type { Field, Fields } from '../fields/field.ts';
import { itemsOf, type JsonNode, kindOf, member, membersOf, stringOf, textOf } from '../json/node.ts';
import { RawJson, writeJson } from '../json/write.ts';
import { gatheredIn, type Room } from './room.ts';

/** Puts the pieces of a streamed reply together into one object. */
export interface Joiner {
  /** Takes a piece; once the room is used up, texts and lists take nothing more. */
  readonly add: (piece: JsonNode) => void;
  /** The JSON text of what has been joined so far. Numbers are those of the pieces, digit for digit. */
  readonly text: () => string;
}

/** A joiner that follows the joining rules of the fields; members nobody knows keep their last value, `skipped` ones go. */
export function joiner(fields: Fields, room: Room, skipped: readonly string[] = []): Joiner {
  const parts = new Map<string, Part>();
  return {
    add: (piece) => {
      for (const { key, value } of membersOf(piece)) {
        const [name, field] = fieldNamed(key, fields);
        if (skipped.includes(key) || (name !== key && says(piece, name))) continue;
        const part = parts.get(name) ?? (room.takes('') ? partFor(field, room) : undefined);
        if (!part) continue;
        parts.set(name, part);
        part.add(value);
      }
    },
    text: () => writeJson(Object.fromEntries(Array.from(parts, ([name, part]) => [name, new RawJson(part.text())]))),
  };
}

interface Part {
  readonly add: (value: JsonNode) => void;
  readonly text: () => string;
}

// An alias says what the field itself says in the same piece, unless that says nothing.
function says(piece: JsonNode, name: string): boolean {
  const value = member(piece, name);
  return value !== undefined && kindOf(value) !== 'null' && textOf(value) !== '""';
}

function fieldNamed(key: string, fields: Fields): [name: string, field: Field | undefined] {
  if (Object.hasOwn(fields, key)) return [key, fields[key]];
  const known = Object.entries(fields).find(
    ([, { aliases, streamedAs }]) => streamedAs === key || aliases?.includes(key),
  );
  return known ?? [key, undefined];
}

function partFor(field: Field | undefined, room: Room): Part {
  switch (field?.join) {
    case 'first':
      return single(room, (before) => before === undefined);
    case 'concatenate':
      return concatenated(room);
    case 'append':
      return appended(room);
    case 'merge':
      return field.type === 'object' ? merged(field.fields ?? {}, room) : single(room);
    case 'by-index':
      return field.type === 'list' && field.of.type === 'object' ? indexed(field.of.fields ?? {}, room) : single(room);
    case 'default':
      return { add: () => {}, text: () => writeJson(field.default ?? null) };
    default:
      return single(room);
  }
}

// Null stands for "nothing in this piece"; it is kept only where nothing else comes.
function single(room: Room, takes: (before: string | undefined) => boolean = () => true): Part {
  let text: string | undefined;
  return {
    add: (value) => {
      if (kindOf(value) !== 'null' && takes(text) && room.takes(textOf(value), text)) text = textOf(value);
    },
    text: () => text ?? 'null',
  };
}

function concatenated(room: Room): Part {
  const pieces = gatheredIn(room);
  let any = false;
  return {
    add: (value) => {
      if (kindOf(value) !== 'string') return;
      any = true;
      pieces.add(stringOf(value));
    },
    text: () => (any ? JSON.stringify(pieces.joined('')) : 'null'),
  };
}

function appended(room: Room): Part {
  const items = gatheredIn(room);
  let any = false;
  return {
    add: (value) => {
      if (kindOf(value) !== 'list') return;
      any = true;
      for (const item of itemsOf(value)) items.add(textOf(item));
    },
    text: () => (any ? `[${items.joined(',')}]` : 'null'),
  };
}

function merged(fields: Fields, room: Room): Part {
  const inner = joiner(fields, room);
  let any = false;
  return {
    add: (value) => {
      any ||= kindOf(value) === 'object';
      inner.add(value);
    },
    text: () => (any ? inner.text() : 'null'),
  };
}

function indexed(fields: Fields, room: Room): Part {
  const elements = new Map<number, Joiner>();
  // The index says which element a piece belongs to; where the element has no such member, it goes.
  const skipped = Object.hasOwn(fields, 'index') ? [] : ['index'];
  return {
    add: (value) => {
      let position = 0;
      for (const item of itemsOf(value)) {
        const index = member(item, 'index');
        const at = index && kindOf(index) === 'number' ? Number(textOf(index)) : position;
        const element = elements.get(at) ?? (room.takes('') ? joiner(fields, room, skipped) : undefined);
        if (element) elements.set(at, element);
        element?.add(item);
        position += 1;
      }
    },
    text: () => {
      const ordered = [...elements].sort(([left], [right]) => left - right);
      return `[${ordered.map(([, element]) => element.text()).join(',')}]`;
    },
  };
}
