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
import { compactJson, writeJson } from '../json/write-json.ts';
import { joinTextParts, unreadableParts } from './chat-text.ts';

/** Of a stream that is merged. Text and lines of JSON that are printed as they arrive have no limit. */
export const MAX_STREAM_BYTES = 8 * 1024 * 1024;

// The memory of a string in addition to its bytes: a stream can consist of single characters or many empty parts.
const STRING_OVERHEAD_BYTES = 64;

interface Merger {
  readonly add: (value: JsonNode) => void;
  /** The JSON text of all values so far. Numbers are those of the chunks, digit for digit. */
  readonly toJson: () => string;
}

interface StreamMerger extends Merger {
  /** More than MAX_STREAM_BYTES once a text did not fit; strings and arrays stay as they are from then on. */
  readonly heldBytes: () => number;
}

interface Merging {
  /** Reserves memory for a text, minus that of the text it replaces; false from the first text that does not fit. */
  readonly tryReserve: (text: string, replaced?: string) => boolean;
  readonly onUnmerged: (description: string) => void;
}

/** Merges chunks by the rules of the fields; unknown fields keep their last value. `onUnmerged` gets a description of each value left out. */
export function createStreamMerger(fields: Fields, onUnmerged: Merging['onUnmerged'] = () => {}): StreamMerger {
  let heldBytes = 0;
  const tryReserve = (text: string, replaced?: string): boolean => {
    if (heldBytes > MAX_STREAM_BYTES) return false;
    heldBytes += stringBytes(text) - (replaced === undefined ? 0 : stringBytes(replaced));
    return heldBytes <= MAX_STREAM_BYTES;
  };
  return { ...objectMerger(fields, { tryReserve, onUnmerged }, '{}'), heldBytes: () => heldBytes };
}

function stringBytes(text: string): number {
  return Buffer.byteLength(text) + STRING_OVERHEAD_BYTES;
}

function objectMerger(
  fields: Fields,
  merging: Merging,
  emptyJson: string,
  skippedFields: readonly string[] = [],
): Merger {
  const mergers = new Map<string, Merger>();
  let hasObject = false;
  return {
    add: (object) => {
      hasObject ||= kindOf(object) === 'object';
      for (const { key, value } of membersOf(object)) {
        const [name, field] = findField(key, fields);
        if (skippedFields.includes(key) || (name !== key && hasValue(object, name))) continue;
        const merger = mergers.get(name) ?? (merging.tryReserve('') ? createFieldMerger(field, merging) : undefined);
        if (!merger) continue;
        mergers.set(name, merger);
        merger.add(value);
      }
    },
    toJson: () => {
      if (!hasObject) return emptyJson;
      return `{${Array.from(mergers, ([name, { toJson }]) => `${JSON.stringify(name)}:${toJson()}`).join(',')}}`;
    },
  };
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

function createFieldMerger(field: Field | undefined, merging: Merging): Merger {
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
      return field.type === 'object' ? objectMerger(field.fields ?? {}, merging, 'null') : singleValueMerger(merging);
    case 'by-index':
      return field.type === 'list' && field.of.type === 'object'
        ? indexedMerger(field.of.fields ?? {}, merging)
        : singleValueMerger(merging);
    case 'default':
      return { add: () => {}, toJson: () => writeJson(field.default ?? null) };
    default:
      return singleValueMerger(merging);
  }
}

// Null means that this chunk has no value; it is kept only if no chunk has one.
function singleValueMerger({ tryReserve }: Merging, isFirstKept = false): Merger {
  let json: string | undefined;
  return {
    add: (value) => {
      if (kindOf(value) === 'null' || (isFirstKept && json !== undefined)) return;
      if (tryReserve(rawText(value), json)) json = rawText(value);
    },
    toJson: () => json ?? 'null',
  };
}

// Content may also be an array of parts, of which those with text are joined (docs/contract.md).
function stringMerger({ tryReserve, onUnmerged }: Merging, emptyJson: string): Merger {
  let pieces: string[] | undefined;
  return {
    add: (value) => {
      const kind = kindOf(value);
      if (kind === 'null') return;
      if (kind === 'list') for (const type of unreadableParts(value)) onUnmerged(`a content part of type ${type}`);
      else if (kind !== 'string') return onUnmerged(`${kind} where text was expected`);
      pieces ??= [];
      const text = kind === 'list' ? joinTextParts(itemsOf(value)) : stringOf(value);
      if (tryReserve(text)) pieces.push(text);
    },
    toJson: () => (pieces ? JSON.stringify(pieces.join('')) : emptyJson),
  };
}

// A value that is not an array is kept as it is, if no array follows.
function arrayMerger(merging: Merging): Merger {
  let items: string[] | undefined;
  const single = singleValueMerger(merging);
  return {
    add: (value) => {
      if (kindOf(value) !== 'list') return single.add(value);
      items ??= [];
      for (const item of itemsOf(value)) if (merging.tryReserve(rawText(item))) items.push(rawText(item));
    },
    toJson: () => (items ? `[${items.join(',')}]` : single.toJson()),
  };
}

function indexedMerger(fields: Fields, merging: Merging): Merger {
  const elements: { readonly at: number; readonly merger: Merger }[] = [];
  const byId = new Map<string, Merger>();
  const latestByIndex = new Map<number, Merger>();
  // The index selects the element of a chunk; it is removed if the element has no such field.
  const skippedFields = Object.hasOwn(fields, 'index') ? [] : ['index'];
  return {
    add: (value) => {
      for (const [position, item] of Array.from(itemsOf(value)).entries()) {
        const index = numberMember(item, 'index');
        const at = index ?? position;
        const id = firstStringMember(item, 'id');
        const idKey = `${index ?? ''} ${id}`;
        let merger = (id ? byId.get(idKey) : undefined) ?? (beginsToolCall(item) ? undefined : latestByIndex.get(at));
        if (!merger) {
          if (!merging.tryReserve('')) continue;
          merger = objectMerger(fields, merging, '{}', skippedFields);
          elements.push({ at, merger });
          if (id) byId.set(idKey, merger);
        }
        latestByIndex.set(at, merger);
        merger.add(item);
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
  const merger = createStreamMerger(fields);
  let failure: Failure | undefined;
  let endTurn: (() => void) | undefined;
  try {
    for await (const chunk of chunks) {
      merger.add(chunk);
      // The stream may never end.
      if (merger.heldBytes() > MAX_STREAM_BYTES) break;
      if (merger.heldBytes() > LARGE_STREAM_BYTES) endTurn ??= await takeTurn?.();
    }
    if (merger.heldBytes() > MAX_STREAM_BYTES)
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
