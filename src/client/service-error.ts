import {
  firstStringMember,
  getMember,
  itemsAt,
  itemsOf,
  type JsonNode,
  type JsonPath,
  kindOf,
  rawText,
  stringOf,
} from '../json/json-node.ts';
import { parseCutJson, tryParseJson } from '../json/parse-json.ts';

/** The message of a service about a failure, and the fields of the body that it names. */
export interface ServiceError {
  readonly message: string | undefined;
  readonly issues: readonly { readonly path: JsonPath; readonly message: string }[];
  /** A text or code of the error has the word quota: waiting a minute does not help (docs/servers.md). */
  readonly isQuotaError: boolean;
}

/** Bytes of an error body that are read; some servers echo the whole request. */
export const MAX_ERROR_BYTES = 64 * 1024;

/** Reads an error body in any of the shapes of docs/servers.md; any other text is the message. */
export function parseServiceError(bytes: Uint8Array): ServiceError {
  const root = tryParseJson(bytes) ?? (bytes.length < MAX_ERROR_BYTES ? undefined : parseCutJson(bytes));
  const issues = ['detail', 'errors'].flatMap((name) => itemsAt(root, name).flatMap(parseIssue));
  const message = issues.length > 0 ? undefined : root ? (findMessage(root) ?? rawText(root)) : nonJsonMessage(bytes);
  const isQuotaError = /quota/i.test(message ?? '') || hasQuotaText(root);
  const path = root && parseParam(root);
  return path && message !== undefined
    ? { message: undefined, issues: [{ path, message }], isQuotaError }
    : { message, issues, isQuotaError };
}

const messageFields = ['error', 'message', 'detail', 'reason', 'msg', 'title'];
const textFields = [...messageFields, 'code', 'type', 'error_code', 'error_type'];

// In named fields only: an error body may repeat the whole request.
function hasQuotaText(root: JsonNode | undefined): boolean {
  return [root, getMember(root, 'error'), getMember(root, 'detail'), ...itemsAt(root, 'detail')].some((node) =>
    textFields.some((name) => /quota/i.test(firstStringMember(node, name) ?? '')),
  );
}

// The field that an OpenAI-shaped error names: `max_tokens`, `messages[0].content`, `messages.0.content`.
function parseParam(root: JsonNode): JsonPath | undefined {
  const error = getMember(root, 'error');
  const param = getMember(error && kindOf(error) === 'object' ? error : root, 'param');
  return param && kindOf(param) === 'string' ? parseFieldPath(stringOf(param)) : undefined;
}

function parseFieldPath(text: string): JsonPath | undefined {
  if (!/^[A-Za-z_]\w*(\.\w+|\[\d+\])*$/.test(text)) return undefined;
  return (text.match(/\w+/g) ?? []).map((step) => (/^\d+$/.test(step) ? Number(step) : step));
}

// In the order of preference, also inside an `error` that is an object.
function findMessage(node: JsonNode): string | undefined {
  if (kindOf(node) === 'string') return stringOf(node);
  for (const name of messageFields) {
    const inner = getMember(node, name);
    const text = inner && findMessage(inner);
    if (text) return text;
  }
  return undefined;
}

function parseIssue(entry: JsonNode): { path: JsonPath; message: string }[] {
  const message = firstStringMember(entry, 'msg', 'message', 'reason');
  const location = getMember(entry, 'loc') ?? getMember(entry, 'field');
  if (message === undefined || !location) return [];
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

/** The title of an HTML page, empty without one, and undefined for any other text. Reads at most MAX_ERROR_BYTES. */
export function htmlTitle(bytes: Uint8Array): string | undefined {
  const text = new TextDecoder().decode(bytes.subarray(0, MAX_ERROR_BYTES));
  if (!/^\s*</.test(text) || !/<(html|!doctype html|head|body)\b/i.test(text)) return undefined;
  const [, title = ''] = /<title\b[^<>]*>([^<]*)/i.exec(text) ?? [];
  return title
    .replace(/[ \t\r\n]+/g, ' ')
    .trim()
    .slice(0, MAX_TITLE_CHARS);
}
