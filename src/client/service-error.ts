import type { JsonNode, JsonPath } from '../json/json-node.ts';
import { firstStringMember, getMember, itemsAt, itemsOf, kindOf, rawText, stringOf } from '../json/json-node.ts';
import { parseCutJson, tryParseJson } from '../json/parse-json.ts';

export interface ServiceError {
  readonly message: string | undefined;
  readonly issues: readonly { readonly path: JsonPath; readonly message: string }[];
  /** The machine-readable code, as text. */
  readonly serviceCode: string | undefined;
  readonly errorBody: string;
  /** A text or code of the error has the word quota: waiting a minute does not help (docs/internals/servers.md). */
  readonly isQuotaError: boolean;
  readonly root: JsonNode | undefined;
}

// Some servers echo the whole request.
export const MAX_ERROR_BYTES = 64 * 1024;

/** Reads the first 64 KiB of an error body in any of the shapes of docs/internals/servers.md; any other text is the message. */
export function parseServiceError(body: Uint8Array): ServiceError {
  const bytes = body.subarray(0, MAX_ERROR_BYTES);
  const parsed = tryParseJson(bytes) ?? (bytes.length < MAX_ERROR_BYTES ? undefined : parseCutJson(bytes));
  // One vendor wraps its error object in an array.
  const [first] = parsed ? itemsOf(parsed) : [];
  const root = first && kindOf(first) === 'object' ? first : parsed;
  const error = getMember(root, 'error');
  const found = root && findMessage(root);
  const text = root ? (found ?? rawText(root)) : nonJsonMessage(bytes);
  const embedded = found && /^\s*[[{]/.test(found) ? tryParseJson(found) : undefined;
  const issues = [root, error, getMember(root, 'message'), embedded].flatMap(findIssues);
  const message = joinMessages(text, upstreamMessage(error));
  const serviceCode = findServiceCode(root, error);
  const isQuotaError = /quota/i.test(message ?? '') || hasQuotaText(root);
  const facts = { serviceCode, errorBody: new TextDecoder().decode(bytes), isQuotaError, root: parsed };
  if (issues.length > 0) return { ...facts, message: undefined, issues };
  // The field that an OpenAI-shaped error names: `max_tokens`, `messages[0].content`, `messages.0.content`.
  const param = firstStringMember(error, 'param') ?? firstStringMember(root, 'param');
  const ofText = root ? undefined : serdeIssue(text);
  const { path, message: problem = '' } =
    param === undefined ? (ofText ?? {}) : { path: parseFieldPath(param), message };
  if (!path || problem === '') return { ...facts, message, issues };
  return { ...facts, message: undefined, issues: [{ path, message: problem }] };
}

const messageFields = ['error', 'message', 'detail', 'reason', 'msg', 'title', 'errors', 'base_resp', 'status_msg'];
const textFields = [...messageFields, 'code', 'type', 'error_code', 'error_type'];

// In named fields only: an error body may repeat the whole request.
function hasQuotaText(root: JsonNode | undefined): boolean {
  return [root, getMember(root, 'error'), getMember(root, 'detail'), ...itemsAt(root, 'detail')].some((node) =>
    textFields.some((name) => /quota/i.test(firstStringMember(node, name) ?? '')),
  );
}

function findServiceCode(root: JsonNode | undefined, error: JsonNode | undefined): string | undefined {
  const nodes = [
    getMember(root, 'error_code'),
    getMember(error, 'code'),
    getMember(error, 'type'),
    getMember(root, 'code'),
    getMember(getMember(root, 'base_resp'), 'status_code'),
    getMember(itemsAt(root, 'errors')[0], 'code'),
  ];
  return nodes.map(scalarText).find((text) => text !== undefined);
}

function scalarText(node: JsonNode | undefined): string | undefined {
  if (node && kindOf(node) === 'string') return stringOf(node) || undefined;
  return node && kindOf(node) === 'number' ? rawText(node) : undefined;
}

// A gateway passes the error of its provider on as a text.
function upstreamMessage(error: JsonNode | undefined): string | undefined {
  const raw = getMember(getMember(error, 'metadata'), 'raw');
  if (!raw || kindOf(raw) === 'null') return undefined;
  const text = kindOf(raw) === 'string' ? stringOf(raw) : rawText(raw);
  const inner = tryParseJson(text);
  return (inner && findMessage(inner)) ?? text;
}

function joinMessages(message: string | undefined, more: string | undefined): string | undefined {
  if (!more || message?.includes(more)) return message;
  return message === undefined ? more : `${message}: ${more}`;
}

function parseFieldPath(text: string): JsonPath | undefined {
  if (!/^[A-Za-z_]\w*(\.\w+|\[\d+\])*$/.test(text)) return undefined;
  return (text.match(/\w+/g) ?? []).map((step) => (/^\d+$/.test(step) ? Number(step) : step));
}

// Rust servers write the path of the field into the text: "… target type: tools[46].function: missing field `name` at …".
function serdeIssue(text = ''): { readonly path: JsonPath | undefined; readonly message: string } | undefined {
  const [, path, message = ''] = /deserializ[^:]*: ([A-Za-z_]\w*(?:\.\w+|\[\d+\])*): (.+)$/is.exec(text) ?? [];
  return path === undefined ? undefined : { path: parseFieldPath(path), message };
}

// Errors can be nested thousands of levels deep.
const MAX_ERROR_DEPTH = 12;
const MAX_LISTED_MESSAGES = 5;

function findMessage(node: JsonNode, depth = 0): string | undefined {
  if (depth > MAX_ERROR_DEPTH) return undefined;
  if (kindOf(node) === 'string') return stringOf(node);
  const texts = Array.from(itemsOf(node)).flatMap((item) => findMessage(item, depth + 1) || []);
  if (texts.length > 0) return texts.slice(0, MAX_LISTED_MESSAGES).join('; ');
  for (const name of messageFields) {
    const inner = getMember(node, name);
    const text = inner && findMessage(inner, depth + 1);
    if (text) return text;
  }
  return undefined;
}

// If one entry of a list names its field, the others count too.
function findIssues(node: JsonNode | undefined): { path: JsonPath; message: string }[] {
  const lists = [...['detail', 'errors', 'issues'].map((name) => itemsAt(node, name)), node ? [...itemsOf(node)] : []];
  return lists.flatMap((entries) => {
    const issues = entries.flatMap(parseIssue);
    return issues.some(({ path }) => path !== undefined)
      ? issues.map(({ path = [], message }) => ({ path, message }))
      : [];
  });
}

function parseIssue(entry: JsonNode): { path: JsonPath | undefined; message: string }[] {
  const message = firstStringMember(entry, 'msg', 'message', 'reason');
  if (message === undefined) return [];
  const location = ['loc', 'field', 'path'].map((name) => getMember(entry, name)).find((found) => found !== undefined);
  if (!location) return [{ path: undefined, message }];
  const steps = locationSteps(location);
  return [{ path: steps[0] === 'body' ? steps.slice(1) : steps, message }];
}

// An array of steps, or one text such as `body.start.op_name`.
function locationSteps(location: JsonNode): JsonPath {
  if (kindOf(location) === 'string') return parseFieldPath(stringOf(location)) ?? [stringOf(location)];
  if (kindOf(location) !== 'list') return [];
  return Array.from(itemsOf(location), (step) => (kindOf(step) === 'number' ? Number(rawText(step)) : stringOf(step)));
}

function nonJsonMessage(bytes: Uint8Array): string | undefined {
  const title = htmlTitle(bytes);
  return title === undefined
    ? new TextDecoder().decode(bytes).trim() || undefined
    : title || 'the response is an HTML page';
}

const MAX_TITLE_CHARS = 200;

/** The title of an HTML page, empty without one; undefined for any other text. */
export function htmlTitle(bytes: Uint8Array): string | undefined {
  const text = new TextDecoder().decode(bytes.subarray(0, MAX_ERROR_BYTES));
  if (!/^\s*</.test(text) || !/<(html|!doctype html|head|body)\b/i.test(text)) return undefined;
  const [, title = ''] = /<title\b[^<>]*>([^<]*)/i.exec(text) ?? [];
  return title
    .replace(/[ \t\r\n]+/g, ' ')
    .trim()
    .slice(0, MAX_TITLE_CHARS);
}
