import { Buffer } from 'node:buffer';
import type { Field, Fields } from '../fields/field.ts';
import {
  firstStringMember,
  getMember,
  itemsOf,
  type JsonKind,
  type JsonNode,
  kindOf,
  membersOf,
  numberMember,
  rawText,
  rootOf,
  stringOf,
} from '../json/json-node.ts';
import { parseJson } from '../json/parse-json.ts';
import { compactJson, writeJson } from '../json/write-json.ts';
import { joinTextParts, unreadableParts } from './chat-text.ts';
import { beginsCall, callText, isContinued, isEmpty, isSameCall, type StartedCall } from './chunk-values.ts';

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

/** Where a value is: its names from the chunk on, and what a further value is: a piece of a `delta`, or a newer value. */
interface Place {
  readonly path: readonly string[];
  readonly next: 'piece' | 'newer' | 'newer number';
}

// A response has a few; the names come from the server.
const MAX_DESCRIPTIONS = 20;
const MAX_COUNTED_DESCRIPTIONS = 10_000;

/**
 * Merges chunks by the rules of the fields, and other fields by the rules for unknown ones (docs/internals/servers.md).
 * `onUnmerged` gets a description of every value that is left out, of some also while the result is written.
 */
export function createStreamMerger(fields: Fields, onUnmerged: Merging['onUnmerged'] = () => {}): StreamMerger {
  let heldBytes = 0;
  const tryReserve = (text: string, replaced?: string): boolean => {
    if (heldBytes > MAX_STREAM_BYTES) return false;
    heldBytes += stringBytes(text) - (replaced === undefined ? 0 : stringBytes(replaced));
    return heldBytes <= MAX_STREAM_BYTES;
  };
  const described = new Set<string>();
  const merging: Merging = {
    tryReserve,
    onUnmerged: (description) => {
      if (described.has(description) || described.size >= MAX_COUNTED_DESCRIPTIONS) return;
      described.add(description);
      if (described.size <= MAX_DESCRIPTIONS) onUnmerged(description);
    },
  };
  const place: Place = { path: [], next: 'newer' };
  const { add, toJson } = objectMerger(fields, merging, place, '{}', ['obfuscation']);
  return {
    add,
    toJson: () => {
      const json = toJson();
      const more = described.size - MAX_DESCRIPTIONS;
      if (more > 0) onUnmerged(more === 1 ? 'a value of another field' : `a value of each of ${more} more fields`);
      return json;
    },
    heldBytes: () => heldBytes,
  };
}

function stringBytes(text: string): number {
  return Buffer.byteLength(text) + STRING_OVERHEAD_BYTES;
}

function memberPlace({ path, next }: Place, name: string): Place {
  return { path: [...path, name], next };
}

function reportLoss({ onUnmerged }: Merging, { path }: Place, what = 'another value'): void {
  onUnmerged(`${what} of ${path.join('.') || 'the stream'}`);
}

function objectMerger(
  fields: Fields,
  merging: Merging,
  place: Place,
  emptyJson: string,
  skippedFields: readonly string[] = [],
): Merger {
  const mergers = new Map<string, Merger>();
  const wholes = new Map<string, Merger>();
  let hasObject = false;
  const mergerIn = (group: Map<string, Merger>, name: string, create: () => Merger): Merger | undefined => {
    const merger = group.get(name) ?? (merging.tryReserve('') ? create() : undefined);
    if (merger) group.set(name, merger);
    return merger;
  };
  return {
    add: (object) => {
      const kind = kindOf(object);
      hasObject ||= kind === 'object';
      if (kind !== 'object' && kind !== 'null') reportLoss(merging, place, 'a value');
      for (const { key, value } of membersOf(object)) {
        const [name, field] = findField(key, fields);
        if (skippedFields.includes(key)) continue;
        const isPiece = field?.streamedAs === key;
        const fieldPlace = memberPlace(isPiece ? { ...place, next: 'piece' } : place, name);
        // The whole value so far, which repeats the pieces.
        if (field?.streamedAs && !isPiece) {
          mergerIn(wholes, name, () => openMerger(merging, fieldPlace))?.add(value);
          continue;
        }
        const primary = name === key || isPiece ? undefined : getMember(object, name);
        if (primary && !isEmpty(primary)) {
          if (!isEmpty(value) && rawText(primary) !== rawText(value))
            reportLoss(merging, memberPlace(place, key), 'a value');
          continue;
        }
        mergerIn(mergers, name, () => createFieldMerger(field, merging, fieldPlace))?.add(value);
      }
    },
    toJson: () => {
      if (!hasObject) return emptyJson;
      const texts = new Map(Array.from(mergers, ([name, { toJson }]) => [name, toJson()]));
      for (const [name, { toJson }] of wholes)
        texts.set(name, completePieces(texts.get(name), toJson(), merging, memberPlace(place, name)));
      return `{${Array.from(texts, ([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`;
    },
  };
}

// The pieces of a value count. A whole value beside them adds the fields that no piece had.
function completePieces(pieces: string | undefined, whole: string, merging: Merging, place: Place): string {
  if (pieces === undefined || isEmpty(rootOf(parseJson(pieces)))) return whole;
  const pieceRoot = rootOf(parseJson(pieces));
  const added: string[] = [];
  for (const { key, value } of membersOf(rootOf(parseJson(whole)))) {
    const piece = getMember(pieceRoot, key);
    if (isEmpty(value) || (piece && compactJson(piece) === compactJson(value))) continue;
    if (!piece) added.push(`${JSON.stringify(key)}:${rawText(value)}`);
    else if (kindOf(piece) !== 'string' || kindOf(value) !== 'string' || !stringOf(piece).startsWith(stringOf(value)))
      reportLoss(merging, memberPlace(place, key), 'the whole value');
  }
  if (added.length === 0) return pieces;
  return `${pieces.slice(0, -1)}${pieces === '{}' ? '' : ','}${added.join(',')}}`;
}

function findField(key: string, fields: Fields): [name: string, field: Field | undefined] {
  if (Object.hasOwn(fields, key)) return [key, fields[key]];
  const entry = Object.entries(fields).find(
    ([, { aliases, streamedAs }]) => streamedAs === key || aliases?.includes(key),
  );
  return entry ?? [key, undefined];
}

function createFieldMerger(field: Field | undefined, merging: Merging, place: Place): Merger {
  const guard = (kinds: readonly JsonKind[], merger: Merger): Merger => guardedMerger(kinds, merger, merging, place);
  switch (field?.join) {
    case 'first':
      return singleValueMerger(merging, place, { isFirstKept: true });
    case 'last':
      return field.type === 'object'
        ? guard(['object'], objectMerger({}, merging, { ...place, next: 'newer number' }, 'null'))
        : singleValueMerger(merging, place);
    case 'concatenate':
      return guard(['string', 'list'], stringMerger(merging, place, 'null'));
    case 'concatenate-or-empty':
      return guard(['string', 'object'], stringMerger(merging, place, '""'));
    case 'append':
      return arrayMerger(
        merging,
        { ...place, next: 'piece' },
        field.type === 'list' && field.of.type === 'object' ? field.of.fields : {},
      );
    case 'merge':
      return guard(['object'], objectMerger((field.type === 'object' && field.fields) || {}, merging, place, 'null'));
    case 'by-index':
      return field.type === 'list' && field.of.type === 'object'
        ? guard(['list', 'object'], indexedMerger(field.of.fields ?? {}, merging, place))
        : singleValueMerger(merging, place);
    case 'default':
      return { add: () => {}, toJson: () => writeJson(field.default ?? null) };
    default:
      return openMerger(merging, place);
  }
}

// Values of another kind are kept if there are no others.
function guardedMerger(kinds: readonly JsonKind[], merger: Merger, merging: Merging, place: Place): Merger {
  let hasValue = false;
  let other: Merger | undefined;
  let hasOther = false;
  return {
    add: (value) => {
      const kind = kindOf(value);
      if (kind === 'null' || kinds.includes(kind)) merger.add(value);
      else {
        other ??= openMerger(merging, place);
        other.add(value);
        hasOther ||= !isEmpty(value);
      }
      hasValue ||= kinds.includes(kind);
      if (hasValue && hasOther) reportLoss(merging, place);
    },
    toJson: () => (other && !hasValue ? other.toJson() : merger.toJson()),
  };
}

// Deeper values are kept as they are.
const MAX_MERGED_DEPTH = 24;

/** Merges a field without a definition: a value that every chunk repeats, or else pieces, or values that replace each other. */
function openMerger(merging: Merging, place: Place): Merger {
  let first: string | undefined;
  let count = 0;
  let merger: Merger | undefined;
  return {
    add: (value) => {
      if (kindOf(value) === 'null') return;
      const text = rawText(value);
      if (merger) return merger.add(value);
      if (first === undefined && !merging.tryReserve(text)) return;
      if (first === undefined || first === text) {
        first = text;
        count += 1;
        return;
      }
      const earlier = rootOf(parseJson(first));
      merger = createOpenMerger(kindOf(isEmpty(earlier) ? value : earlier), merging, place);
      merging.tryReserve('', first);
      for (; count > 0; count -= 1) merger.add(earlier);
      merger.add(value);
    },
    toJson: () => merger?.toJson() ?? first ?? 'null',
  };
}

function createOpenMerger(kind: JsonKind, merging: Merging, place: Place): Merger {
  const isPiece = place.next === 'piece';
  const isMergeable = place.path.length < MAX_MERGED_DEPTH && (isPiece || kind === 'object' || kind === 'list');
  if (kind === 'string' && isPiece)
    return guardedMerger(['string'], stringMerger(merging, place, 'null'), merging, place);
  if (!isMergeable || (kind !== 'object' && kind !== 'list'))
    return singleValueMerger(merging, place, { isOpen: place.next !== 'newer number' });
  const merger = kind === 'object' ? objectMerger({}, merging, place, 'null') : arrayMerger(merging, place);
  return guardedMerger([kind], merger, merging, place);
}

// Null means that this chunk has no value; it is kept only if no chunk has one. An empty value replaces no other.
function singleValueMerger(
  merging: Merging,
  place: Place,
  { isFirstKept = false, isOpen = false }: { readonly isFirstKept?: boolean; readonly isOpen?: boolean } = {},
): Merger {
  let json: string | undefined;
  let isReal = false;
  return {
    add: (value) => {
      const kind = kindOf(value);
      const text = rawText(value);
      const isIgnored = isEmpty(value) && (kind !== 'number' || !isOpen);
      if (kind === 'null' || text === json || (json !== undefined && isIgnored)) return;
      // Some servers count and time every chunk.
      const isLoss = isReal && (isOpen || kind !== 'number') && !(kind === 'string' && isContinued(json ?? '', text));
      if (isLoss) reportLoss(merging, place);
      if ((isFirstKept && isReal) || !merging.tryReserve(text, json)) return;
      json = text;
      isReal ||= !isEmpty(value);
    },
    toJson: () => json ?? 'null',
  };
}

// Content may also be an array of parts, of which those with text are joined (docs/internals/contract.md).
function stringMerger(merging: Merging, place: Place, emptyJson: string): Merger {
  let pieces: string[] | undefined;
  return {
    add: (value) => {
      const kind = kindOf(value);
      if (kind === 'null') return;
      if (kind === 'list') reportParts(value, merging, place);
      pieces ??= [];
      const text =
        kind === 'list' ? joinTextParts(itemsOf(value)) : kind === 'string' ? stringOf(value) : rawText(value);
      if (merging.tryReserve(text)) pieces.push(text);
    },
    toJson: () => (pieces ? JSON.stringify(pieces.join('')) : emptyJson),
  };
}

function reportParts(parts: JsonNode, merging: Merging, place: Place): void {
  for (const type of unreadableParts(parts)) merging.onUnmerged(`a content part of type ${type}`);
  for (const part of itemsOf(parts))
    for (const { key, value } of membersOf(part))
      if (getMember(part, 'text') && !['type', 'text', 'index'].includes(key) && !isEmpty(value))
        reportLoss(merging, memberPlace(place, key), 'a value');
}

// Elements with an index are merged by it, others appended. A value that is not an array is an element, or alone itself.
function arrayMerger(merging: Merging, place: Place, fields: Fields = {}): Merger {
  const items: (string | Merger)[] = [];
  const byIndex = new Map<string, Merger>();
  let isArray = false;
  let cumulative: string | undefined = '[]';
  let count = 0;
  const addItem = (item: JsonNode): void => {
    const index = numberMember(item, 'index');
    const type = firstStringMember(item, 'type');
    const key = `${index} ${type ?? ''}`;
    const merger = byIndex.get(type === undefined ? `${index}` : key);
    if (merger) {
      merger.add(item);
      return;
    }
    if (!merging.tryReserve(index === undefined ? rawText(item) : '')) return;
    const created = index === undefined ? undefined : objectMerger(fields, merging, place, '{}');
    if (created) byIndex.set(key, created).set(`${index}`, created);
    created?.add(item);
    items.push(created ?? rawText(item));
  };
  return {
    add: (value) => {
      if (kindOf(value) === 'null') return;
      if (kindOf(value) !== 'list') return addItem(value);
      isArray = true;
      const text = place.next === 'piece' || cumulative === undefined ? undefined : compactJson(value);
      const isNewer = text !== undefined && cumulative !== undefined && isContinued(cumulative, text);
      for (const item of Array.from(itemsOf(value)).slice(isNewer ? count : 0)) {
        addItem(item);
        count += 1;
      }
      cumulative = isNewer ? text : undefined;
    },
    toJson: () => {
      const texts = items.map((item) => (typeof item === 'string' ? item : item.toJson()));
      return isArray || texts.length > 1 ? `[${texts.join(',')}]` : (texts[0] ?? 'null');
    },
  };
}

interface IndexedElement extends StartedCall {
  readonly at: number;
  readonly merger: Merger;
}

function indexedMerger(fields: Fields, merging: Merging, place: Place): Merger {
  const elements: IndexedElement[] = [];
  const byId = new Map<string, IndexedElement>();
  const latestByIndex = new Map<number, IndexedElement>();
  // The index selects the element of a chunk; it is removed if the element has no such field.
  const skippedFields = Object.hasOwn(fields, 'index') ? [] : ['index'];
  let hasArray = false;
  const addItem = (item: JsonNode, position: number): void => {
    const at = numberMember(item, 'index') ?? position;
    const id = firstStringMember(item, 'id') || undefined;
    const latest = latestByIndex.get(at);
    const known = id === undefined ? undefined : byId.get(id);
    if (known && known.at !== at && isSameCall(known, item)) return;
    let element = known?.at === at ? known : latest && !beginsCall(latest, id, item) ? latest : undefined;
    if (!element) {
      if (!merging.tryReserve('')) return;
      const merger = objectMerger(fields, merging, place, '{}', skippedFields);
      element = { at, id, merger, json: merger.toJson, lastPiece: '' };
      elements.push(element);
    }
    if (id) byId.set(id, element);
    element.id ??= id;
    latestByIndex.set(at, element);
    element.lastPiece = callText(item) || element.lastPiece;
    element.merger.add(item);
  };
  return {
    add: (value) => {
      hasArray ||= kindOf(value) !== 'null';
      if (kindOf(value) === 'object') addItem(value, 0);
      for (const [position, item] of Array.from(itemsOf(value)).entries()) addItem(item, position);
    },
    toJson: () => {
      const ordered = [...elements].sort((left, right) => left.at - right.at);
      return hasArray ? `[${ordered.map(({ merger }) => merger.toJson()).join(',')}]` : 'null';
    },
  };
}
