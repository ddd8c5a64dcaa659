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
import { joinTextParts, partThoughts, unreadableParts } from '../operations/chat-text.ts';
import { beginsCall, callText, isContinued, isEmpty, isSameCall, type StartedCall } from './chunk-values.ts';

/** Merges the values of a field, or of a whole chunk. */
interface Merger {
  readonly add: (value: JsonNode) => void;
  /** The JSON text of all values so far. Numbers are those of the chunks, digit for digit. */
  readonly toJson: () => string;
}

/** A piece of a text, as it is added to the merged response: of which choice, and of which field of the response. */
export interface MergedText {
  readonly choice: number;
  readonly path: string;
  readonly text: string;
}

export interface Merging {
  /** Reserves memory for a text, minus that of the text it replaces; false from the first text that does not fit. */
  readonly tryReserve: (text: string, replaced?: string) => boolean;
  /** Called with a description of every value that is left out, of some also while the result is written. */
  readonly onUnmerged: (description: string) => void;
  readonly onText: (text: MergedText) => void;
}

/** Where a value is: its names from the chunk on, and what a further value is: a piece of a `delta`, or a newer value. */
interface Place {
  readonly path: readonly string[];
  readonly next: 'piece' | 'newer' | 'newer number';
  /** The outermost index. */
  readonly choice?: number;
}

/** Merges chunks by the rules of the fields, and other fields by the rules for unknown ones (docs/internals/servers.md). */
export function createChunkMerger(fields: Fields, merging: Merging): Merger {
  // Random padding.
  return objectMerger(fields, merging, { path: [], next: 'newer' }, '{}', ['obfuscation']);
}

function memberPlace(place: Place, name: string): Place {
  return { ...place, path: [...place.path, name] };
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
  const addField = (name: string, value: JsonNode, fieldPlace = memberPlace(place, name)): void =>
    mergerIn(mergers, name, () => createFieldMerger(fields[name], merging, fieldPlace))?.add(value);
  return {
    add: (object) => {
      const kind = kindOf(object);
      hasObject ||= kind === 'object';
      if (kind !== 'object' && kind !== 'null') reportLoss(merging, place, 'a value');
      // Some servers send the reasoning as parts of the content.
      const thoughts = fields.reasoning ? partThoughts(object) : '';
      if (thoughts !== '') addField('reasoning', rootOf(parseJson(JSON.stringify(thoughts))));
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
        addField(name, value, fieldPlace);
      }
    },
    toJson: () => {
      if (!hasObject) return emptyJson;
      const texts = new Map(Array.from(mergers, ([name, { toJson }]) => [name, toJson()]));
      for (const [name, { toJson }] of wholes)
        texts.set(name, completePieces(texts.get(name), toJson(), merging, memberPlace(place, name)));
      return objectText([...texts]);
    },
  };
}

// The pieces of a value count. A whole value beside them adds the fields of which no piece had a value.
function completePieces(pieces: string | undefined, whole: string, merging: Merging, place: Place): string {
  const pieceRoot = pieces === undefined ? undefined : rootOf(parseJson(pieces));
  if (!pieceRoot || isEmpty(pieceRoot)) return whole;
  const merged = new Map(Array.from(membersOf(pieceRoot), ({ key, value }) => [key, value]));
  for (const { key, value } of membersOf(rootOf(parseJson(whole)))) {
    const piece = merged.get(key);
    if (isEmpty(value) || (piece && compactJson(piece) === compactJson(value))) continue;
    if (!piece || isEmpty(piece)) merged.set(key, value);
    else if (kindOf(piece) !== 'string' || kindOf(value) !== 'string' || !stringOf(piece).startsWith(stringOf(value)))
      reportLoss(merging, memberPlace(place, key), 'the whole value');
  }
  return objectText(Array.from(merged, ([key, value]) => [key, rawText(value)]));
}

function objectText(members: readonly (readonly [name: string, json: string])[]): string {
  return `{${members.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(',')}}`;
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
      hasValue ||= kinds.includes(kind) && !isEmpty(value);
      if (hasValue && hasOther) reportLoss(merging, place);
    },
    toJson: () => (other && hasOther && !hasValue ? other.toJson() : merger.toJson()),
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
  const path = place.path.join('.');
  let pieces: string[] | undefined;
  return {
    add: (value) => {
      const kind = kindOf(value);
      if (kind === 'null') return;
      if (kind === 'list') reportParts(value, merging, place);
      pieces ??= [];
      const text =
        kind === 'list' ? joinTextParts(itemsOf(value)) : kind === 'string' ? stringOf(value) : rawText(value);
      if (text !== '') merging.onText({ choice: place.choice ?? 0, path, text });
      if (merging.tryReserve(text)) pieces.push(text);
    },
    toJson: () => (pieces ? JSON.stringify(pieces.join('')) : emptyJson),
  };
}

function reportParts(parts: JsonNode, merging: Merging, place: Place): void {
  for (const type of unreadableParts(parts))
    if (type !== 'thinking') merging.onUnmerged(`a content part of type ${type}`);
  for (const part of itemsOf(parts)) {
    const isRead = getMember(part, 'text') ?? getMember(part, 'thinking');
    for (const { key, value } of isRead ? membersOf(part) : []) {
      if (key === 'thinking') reportParts(value, merging, memberPlace(place, key));
      else if (!['type', 'text', 'index'].includes(key) && !isEmpty(value))
        reportLoss(merging, memberPlace(place, key), 'a value');
    }
  }
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
      const merger = objectMerger(fields, merging, { ...place, choice: place.choice ?? at }, '{}', skippedFields);
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
