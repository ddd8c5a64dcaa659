import {
  endOffset,
  firstStringMember,
  getMember,
  itemsOf,
  type JsonNode,
  kindOf,
  membersOf,
  rawText,
  rootOf,
  startOffset,
} from '../json/json-node.ts';
import { parseJson, tryParseJson } from '../json/parse-json.ts';
import { compactJson } from '../json/write-json.ts';

/** True for null, an empty string, zero, and arrays and objects without another value: they replace no real one. */
export function isEmpty(value: JsonNode): boolean {
  const kind = kindOf(value);
  if (kind === 'list') return itemsOf(value).next().done === true;
  if (kind === 'object') return Array.from(membersOf(value)).every(({ value: inner }) => isEmptyScalar(inner));
  return isEmptyScalar(value);
}

function isEmptyScalar(value: JsonNode): boolean {
  return /^(?:null|""|-?0(?:\.0*)?|\[\]|\{\})$/.test(endOffset(value) - startOffset(value) < 8 ? rawText(value) : 'x');
}

/** True if the second of two JSON texts, each a string or an array, begins with the first. */
export function isContinued(earlier: string, later: string): boolean {
  const start = earlier.slice(0, -1);
  return (
    later.startsWith(start) && (start.length <= 1 || earlier.startsWith('"') || /[,\]]/.test(later[start.length] ?? ''))
  );
}

function callOf(item: JsonNode | undefined): JsonNode | undefined {
  return getMember(item, 'function') ?? getMember(item, 'custom');
}

export function callText(item: JsonNode | undefined): string {
  return firstStringMember(callOf(item), 'arguments', 'input') ?? '';
}

/** The pieces of a call that arrived so far. */
export interface StartedCall {
  id: string | undefined;
  readonly json: () => string;
  /** The last piece of the arguments that is not empty. */
  lastPiece: string;
}

/**
 * Several calls may have the same index (docs/internals/servers.md): a new id, or a name with whole arguments, begins a call if the
 * arguments so far are complete.
 */
export function beginsCall(call: StartedCall, id: string | undefined, item: JsonNode): boolean {
  const name = firstStringMember(callOf(item), 'name');
  const text = callText(item);
  if ((id === undefined ? !name || !isWholeJson(text) : id === call.id) || !(name || text)) return false;
  if (call.lastPiece === '' || getMember(item, 'custom')) return Boolean(name) && call.id !== undefined;
  return /[}\]]\s*$/.test(call.lastPiece) && isWholeJson(callText(rootOf(parseJson(call.json()))));
}

function isWholeJson(text: string): boolean {
  return text !== '' && tryParseJson(text) !== undefined;
}

/** Some servers send a call again at another index. */
export function isSameCall({ json, lastPiece }: StartedCall, item: JsonNode): boolean {
  if (lastPiece === '' || lastPiece.at(-1) !== callText(item).at(-1)) return false;
  const earlier = callOf(rootOf(parseJson(json())));
  const call = callOf(item);
  return call !== undefined && earlier !== undefined && compactJson(earlier) === compactJson(call);
}
