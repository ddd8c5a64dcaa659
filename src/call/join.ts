import type { Field, Fields } from '../fields/field.ts';
import { itemsOf, type JsonNode, kindOf, member, membersOf, stringOf, textOf } from '../json/node.ts';
import { RawJson, writeJson } from '../json/write.ts';

/** Puts the pieces of a streamed reply together into one object. */
export interface Joiner {
  readonly add: (piece: JsonNode) => void;
  /** The JSON text of what has been joined so far. Numbers are those of the pieces, digit for digit. */
  readonly text: () => string;
}

/** A joiner that follows the joining rules of the fields; members nobody knows keep their last value, `skipped` ones go. */
export function joiner(fields: Fields, skipped: readonly string[] = []): Joiner {
  const parts = new Map<string, Part>();
  return {
    add: (piece) => {
      for (const { key, value } of membersOf(piece)) {
        const [name, field] = fieldNamed(key, fields);
        if (skipped.includes(key) || (name !== key && says(piece, name))) continue;
        const part = parts.get(name) ?? partFor(field);
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

// An alias says what the field itself says in the same piece, unless that is null.
function says(piece: JsonNode, name: string): boolean {
  const value = member(piece, name);
  return value !== undefined && kindOf(value) !== 'null';
}

function fieldNamed(key: string, fields: Fields): [name: string, field: Field | undefined] {
  if (Object.hasOwn(fields, key)) return [key, fields[key]];
  const known = Object.entries(fields).find(
    ([, { aliases, streamedAs }]) => streamedAs === key || aliases?.includes(key),
  );
  return known ?? [key, undefined];
}

function partFor(field: Field | undefined): Part {
  switch (field?.join) {
    case 'first':
      return single((before) => before === undefined);
    case 'concatenate':
      return concatenated();
    case 'append':
      return appended();
    case 'merge':
      return field.type === 'object' ? merged(field.fields ?? {}) : single(() => true);
    case 'by-index':
      return field.type === 'list' && field.of.type === 'object' ? indexed(field.of.fields ?? {}) : single(() => true);
    case 'default':
      return { add: () => {}, text: () => writeJson(field.default ?? null) };
    default:
      return single(() => true);
  }
}

// Null stands for "nothing in this piece"; it is kept only where nothing else comes.
function single(takes: (before: string | undefined) => boolean): Part {
  let text: string | undefined;
  return {
    add: (value) => {
      if (kindOf(value) !== 'null' && takes(text)) text = textOf(value);
    },
    text: () => text ?? 'null',
  };
}

function concatenated(): Part {
  const pieces: string[] = [];
  return {
    add: (value) => {
      if (kindOf(value) === 'string') pieces.push(stringOf(value));
    },
    text: () => (pieces.length > 0 ? JSON.stringify(pieces.join('')) : 'null'),
  };
}

function appended(): Part {
  let items: string[] | undefined;
  return {
    add: (value) => {
      if (kindOf(value) !== 'list') return;
      items ??= [];
      for (const item of itemsOf(value)) items.push(textOf(item));
    },
    text: () => (items ? `[${items.join(',')}]` : 'null'),
  };
}

function merged(fields: Fields): Part {
  const inner = joiner(fields);
  let any = false;
  return {
    add: (value) => {
      any ||= kindOf(value) === 'object';
      inner.add(value);
    },
    text: () => (any ? inner.text() : 'null'),
  };
}

function indexed(fields: Fields): Part {
  const elements = new Map<number, Joiner>();
  // The index says which element a piece belongs to; where the element has no such member, it goes.
  const skipped = Object.hasOwn(fields, 'index') ? [] : ['index'];
  return {
    add: (value) => {
      let position = 0;
      for (const item of itemsOf(value)) {
        const index = member(item, 'index');
        const at = index && kindOf(index) === 'number' ? Number(textOf(index)) : position;
        const element = elements.get(at) ?? joiner(fields, skipped);
        elements.set(at, element);
        element.add(item);
        position += 1;
      }
    },
    text: () => {
      const ordered = [...elements].sort(([left], [right]) => left - right);
      return `[${ordered.map(([, element]) => element.text()).join(',')}]`;
    },
  };
}
