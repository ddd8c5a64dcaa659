import { Buffer } from 'node:buffer';
import { Failure } from '../errors.ts';
import type { Field, Fields } from '../fields/field.ts';
import { formatByteSize } from '../files/byte-size.ts';
import {
  firstStringMember,
  getMember,
  itemsOf,
  type JsonNode,
  kindOf,
  membersOf,
  numberMember,
  rawText,
  stringOf,
} from '../json/json-node.ts';
import { parseJson } from '../json/parse-json.ts';
import { compactJson, RawJson, writeJson } from '../json/write-json.ts';
import { joinTextParts, unreadableParts } from './chat-text.ts';

/** The memory available for the merged chunks of a response. */
interface MemoryBudget {
  /** True until a text did not fit. */
  readonly isWithinLimit: () => boolean;
  readonly reservedBytes: () => number;
  /** Reserves memory for a text, minus that of the text it replaces; false from the first text that does not fit. */
  readonly tryReserve: (text: string, replaced?: string) => boolean;
}

// The memory of a string in addition to its bytes: a stream can consist of single characters or many empty parts.
const STRING_OVERHEAD_BYTES = 64;

/** Of a stream that is merged. Text and lines of JSON that are printed as they arrive have no limit. */
export const MAX_STREAM_BYTES = 8 * 1024 * 1024;

export function createMemoryBudget(maxBytes: number): MemoryBudget {
  let remainingBytes = maxBytes;
  return {
    isWithinLimit: () => remainingBytes >= 0,
    reservedBytes: () => maxBytes - remainingBytes,
    tryReserve: (text, replaced) => {
      if (remainingBytes < 0) return false;
      remainingBytes -= stringBytes(text) - (replaced === undefined ? 0 : stringBytes(replaced));
      return remainingBytes >= 0;
    },
  };
}

function stringBytes(text: string): number {
  return Buffer.byteLength(text) + STRING_OVERHEAD_BYTES;
}

interface ChunkMerger {
  /** Adds a chunk, or its value for a field; once the budget is spent, strings and arrays stay as they are. */
  readonly addChunk: (chunk: JsonNode) => void;
  /** The JSON text of all chunks so far. Numbers are those of the chunks, digit for digit. */
  readonly toJson: () => string;
}

/** Merges by the rules of the fields; unknown fields keep their last value. `onUnmerged` gets a description of each value left out. */
export function createChunkMerger(
  fields: Fields,
  budget: MemoryBudget,
  onUnmerged: (description: string) => void = () => {},
  skippedFields: readonly string[] = [],
): ChunkMerger {
  const merging: Merging = { budget, onUnmerged };
  const mergers = new Map<string, ChunkMerger>();
  return {
    addChunk: (chunk) => {
      for (const { key, value } of membersOf(chunk)) {
        const [name, field] = findField(key, fields);
        if (skippedFields.includes(key) || (name !== key && hasValue(chunk, name))) continue;
        const merger = mergers.get(name) ?? (budget.tryReserve('') ? createFieldMerger(field, merging) : undefined);
        if (!merger) continue;
        mergers.set(name, merger);
        merger.addChunk(value);
      }
    },
    toJson: () =>
      writeJson(Object.fromEntries(Array.from(mergers, ([name, part]) => [name, new RawJson(part.toJson())]))),
  };
}

interface Merging {
  readonly budget: MemoryBudget;
  readonly onUnmerged: (description: string) => void;
}

// In one chunk, an alias repeats the field, and counts only if the field has no value.
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

function createFieldMerger(field: Field | undefined, merging: Merging): ChunkMerger {
  switch (field?.join) {
    case 'first':
      return singleValueMerger(merging, true);
    case 'concatenate':
      return stringMerger(merging, 'null');
    case 'concatenate-or-empty':
      return stringMerger(merging, '""');
    case 'append':
      return arrayMerger(merging);
    case 'merge':
      return field.type === 'object' ? objectMerger(field.fields ?? {}, merging) : singleValueMerger(merging);
    case 'by-index':
      return field.type === 'list' && field.of.type === 'object'
        ? indexedMerger(field.of.fields ?? {}, merging)
        : singleValueMerger(merging);
    case 'default':
      return { addChunk: () => {}, toJson: () => writeJson(field.default ?? null) };
    default:
      return singleValueMerger(merging);
  }
}

// Null means that this chunk has no value; it is kept only if no chunk has one.
function singleValueMerger({ budget }: Merging, isFirstKept = false): ChunkMerger {
  let json: string | undefined;
  return {
    addChunk: (value) => {
      if (kindOf(value) === 'null' || (isFirstKept && json !== undefined)) return;
      if (budget.tryReserve(rawText(value), json)) json = rawText(value);
    },
    toJson: () => json ?? 'null',
  };
}

// Content may also be an array of parts, of which those with text are joined (docs/contract.md).
function stringMerger({ budget, onUnmerged }: Merging, emptyJson: string): ChunkMerger {
  let pieces: string[] | undefined;
  return {
    addChunk: (value) => {
      const kind = kindOf(value);
      if (kind === 'null') return;
      if (kind === 'list') for (const type of unreadableParts(value)) onUnmerged(`a content part of type ${type}`);
      else if (kind !== 'string') return onUnmerged(`${kind} where text was expected`);
      pieces ??= [];
      const text = kind === 'list' ? joinTextParts(itemsOf(value)) : stringOf(value);
      if (budget.tryReserve(text)) pieces.push(text);
    },
    toJson: () => (pieces ? JSON.stringify(pieces.join('')) : emptyJson),
  };
}

// A value that is not an array is kept as it is, if no array follows.
function arrayMerger({ budget, onUnmerged }: Merging): ChunkMerger {
  let items: string[] | undefined;
  const single = singleValueMerger({ budget, onUnmerged });
  return {
    addChunk: (value) => {
      if (kindOf(value) !== 'list') return single.addChunk(value);
      items ??= [];
      for (const item of itemsOf(value)) if (budget.tryReserve(rawText(item))) items.push(rawText(item));
    },
    toJson: () => (items ? `[${items.join(',')}]` : single.toJson()),
  };
}

function objectMerger(fields: Fields, { budget, onUnmerged }: Merging): ChunkMerger {
  const merger = createChunkMerger(fields, budget, onUnmerged);
  let hasObject = false;
  return {
    addChunk: (value) => {
      hasObject ||= kindOf(value) === 'object';
      merger.addChunk(value);
    },
    toJson: () => (hasObject ? merger.toJson() : 'null'),
  };
}

function indexedMerger(fields: Fields, { budget, onUnmerged }: Merging): ChunkMerger {
  const elements: { readonly at: number; readonly merger: ChunkMerger }[] = [];
  const byId = new Map<string, ChunkMerger>();
  const latestByIndex = new Map<number, ChunkMerger>();
  // The index selects the element of a chunk; it is removed if the element has no such field.
  const skippedFields = Object.hasOwn(fields, 'index') ? [] : ['index'];
  return {
    addChunk: (value) => {
      for (const [position, item] of Array.from(itemsOf(value)).entries()) {
        const index = numberMember(item, 'index');
        const at = index ?? position;
        const id = firstStringMember(item, 'id');
        const idKey = `${index ?? ''} ${id}`;
        const known = (id ? byId.get(idKey) : undefined) ?? (beginsToolCall(item) ? undefined : latestByIndex.get(at));
        const merger =
          known ?? (budget.tryReserve('') ? createChunkMerger(fields, budget, onUnmerged, skippedFields) : undefined);
        if (!merger) continue;
        if (!known) {
          elements.push({ at, merger });
          if (id) byId.set(idKey, merger);
        }
        latestByIndex.set(at, merger);
        merger.addChunk(item);
      }
    },
    toJson: () => {
      const ordered = [...elements].sort((left, right) => left.at - right.at);
      return `[${ordered.map(({ merger }) => merger.toJson()).join(',')}]`;
    },
  };
}

// Several calls may have the same index (docs/servers.md). A name is needed: later chunks may have ids of their own.
function beginsToolCall(item: JsonNode): boolean {
  return Boolean(firstStringMember(item, 'id') && firstStringMember(getMember(item, 'function'), 'name'));
}

interface MergedStream {
  /** The received chunks, merged into one JSON text on one line. */
  readonly json: string;
  readonly failure: Failure | undefined;
}

// A chat of thousands of tokens with log probabilities has less.
const LARGE_STREAM_BYTES = 4 * 1024 * 1024;

/**
 * Merges the chunks of a stream by the merge rules of `fields`. `createFailure` is for a stream of more than 8 MiB, the
 * rest of which is not read. Of several large streams, `takeTurn` lets one at a time be held as a whole.
 */
export async function mergeStream(
  chunks: AsyncIterable<JsonNode>,
  fields: Fields,
  createFailure: (message: string) => Failure,
  takeTurn?: () => Promise<() => void>,
): Promise<MergedStream> {
  const budget = createMemoryBudget(MAX_STREAM_BYTES);
  const merger = createChunkMerger(fields, budget);
  let failure: Failure | undefined;
  let endTurn: (() => void) | undefined;
  try {
    for await (const chunk of chunks) {
      merger.addChunk(chunk);
      // The stream may never end.
      if (!budget.isWithinLimit()) break;
      if (budget.reservedBytes() > LARGE_STREAM_BYTES) endTurn ??= await takeTurn?.();
    }
    if (!budget.isWithinLimit())
      failure = createFailure(`the stream exceeds the limit of ${formatByteSize(MAX_STREAM_BYTES)}`);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    failure = error;
  }
  try {
    return { json: compactJson(parseJson(merger.toJson())), failure };
  } finally {
    endTurn?.();
  }
}
