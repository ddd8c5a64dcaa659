import type { Field, Fields } from '../fields/field.ts';
import { getMember, itemsOf, type JsonNode, kindOf, membersOf, rawText, stringOf } from '../json/json-node.ts';
import { RawJson, writeJson } from '../json/write-json.ts';
import { createBoundedText, type MemoryBudget } from './memory-budget.ts';

/** Puts the pieces of a streamed reply together into one object. */
export interface ChunkMerger {
  /** Takes a piece; once the room is used up, texts and lists take nothing more. */
  readonly addChunk: (chunk: JsonNode) => void;
  /** The JSON text of what has been joined so far. Numbers are those of the pieces, digit for digit. */
  readonly toJson: () => string;
}

/** A joiner that follows the joining rules of the fields; members nobody knows keep their last value, `skipped` ones go. */
export function createChunkMerger(
  fields: Fields,
  budget: MemoryBudget,
  skippedFields: readonly string[] = [],
): ChunkMerger {
  const mergers = new Map<string, FieldMerger>();
  return {
    addChunk: (chunk) => {
      for (const { key, value } of membersOf(chunk)) {
        const [name, field] = findField(key, fields);
        if (skippedFields.includes(key) || (name !== key && hasValue(chunk, name))) continue;
        const merger = mergers.get(name) ?? (budget.tryReserve('') ? createFieldMerger(field, budget) : undefined);
        if (!merger) continue;
        mergers.set(name, merger);
        merger.add(value);
      }
    },
    toJson: () =>
      writeJson(Object.fromEntries(Array.from(mergers, ([name, part]) => [name, new RawJson(part.toJson())]))),
  };
}

interface FieldMerger {
  readonly add: (value: JsonNode) => void;
  readonly toJson: () => string;
}

// An alias says what the field itself says in the same piece, unless that says nothing.
function hasValue(chunk: JsonNode, name: string): boolean {
  const value = getMember(chunk, name);
  return value !== undefined && kindOf(value) !== 'null' && rawText(value) !== '""';
}

function findField(key: string, fields: Fields): [name: string, field: Field | undefined] {
  if (Object.hasOwn(fields, key)) return [key, fields[key]];
  const entry = Object.entries(fields).find(
    ([, { aliases, streamedAs }]) => streamedAs === key || aliases?.includes(key),
  );
  return entry ?? [key, undefined];
}

function createFieldMerger(field: Field | undefined, budget: MemoryBudget): FieldMerger {
  switch (field?.join) {
    case 'first':
      return singleValueMerger(budget, (before) => before === undefined);
    case 'concatenate':
      return stringMerger(budget);
    case 'append':
      return arrayMerger(budget);
    case 'merge':
      return field.type === 'object' ? objectMerger(field.fields ?? {}, budget) : singleValueMerger(budget);
    case 'by-index':
      return field.type === 'list' && field.of.type === 'object'
        ? indexedMerger(field.of.fields ?? {}, budget)
        : singleValueMerger(budget);
    case 'default':
      return { add: () => {}, toJson: () => writeJson(field.default ?? null) };
    default:
      return singleValueMerger(budget);
  }
}

// Null stands for "nothing in this piece"; it is kept only where nothing else comes.
function singleValueMerger(
  budget: MemoryBudget,
  isAccepted: (before: string | undefined) => boolean = () => true,
): FieldMerger {
  let json: string | undefined;
  return {
    add: (value) => {
      if (kindOf(value) !== 'null' && isAccepted(json) && budget.tryReserve(rawText(value), json))
        json = rawText(value);
    },
    toJson: () => json ?? 'null',
  };
}

function stringMerger(budget: MemoryBudget): FieldMerger {
  const pieces = createBoundedText(budget);
  let hasString = false;
  return {
    add: (value) => {
      if (kindOf(value) !== 'string') return;
      hasString = true;
      pieces.add(stringOf(value));
    },
    toJson: () => (hasString ? JSON.stringify(pieces.join('')) : 'null'),
  };
}

function arrayMerger(budget: MemoryBudget): FieldMerger {
  const items = createBoundedText(budget);
  let hasArray = false;
  return {
    add: (value) => {
      if (kindOf(value) !== 'list') return;
      hasArray = true;
      for (const item of itemsOf(value)) items.add(rawText(item));
    },
    toJson: () => (hasArray ? `[${items.join(',')}]` : 'null'),
  };
}

function objectMerger(fields: Fields, budget: MemoryBudget): FieldMerger {
  const merger = createChunkMerger(fields, budget);
  let hasObject = false;
  return {
    add: (value) => {
      hasObject ||= kindOf(value) === 'object';
      merger.addChunk(value);
    },
    toJson: () => (hasObject ? merger.toJson() : 'null'),
  };
}

function indexedMerger(fields: Fields, budget: MemoryBudget): FieldMerger {
  const elements = new Map<number, ChunkMerger>();
  // The index says which element a piece belongs to; where the element has no such member, it goes.
  const skippedFields = Object.hasOwn(fields, 'index') ? [] : ['index'];
  return {
    add: (value) => {
      let position = 0;
      for (const item of itemsOf(value)) {
        const index = getMember(item, 'index');
        const at = index && kindOf(index) === 'number' ? Number(rawText(index)) : position;
        const element =
          elements.get(at) ?? (budget.tryReserve('') ? createChunkMerger(fields, budget, skippedFields) : undefined);
        if (element) elements.set(at, element);
        element?.addChunk(item);
        position += 1;
      }
    },
    toJson: () => {
      const ordered = [...elements].sort(([left], [right]) => left - right);
      return `[${ordered.map(([, element]) => element.toJson()).join(',')}]`;
    },
  };
}
