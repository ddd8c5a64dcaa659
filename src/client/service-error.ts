import { getMember, itemsOf, type JsonNode, kindOf, rawText, stringOf } from '../json/json-node.ts';
import type { JsonPath } from '../json/json-path.ts';
import { tryParseJson } from '../json/parse-json.ts';

/** What a service said about a failure: its words, and the places in the body it named. */
export interface ServiceError {
  readonly message: string | undefined;
  readonly issues: readonly { readonly path: JsonPath; readonly message: string }[];
}

/** The most bytes of an error body that are read; some servers echo the whole request. */
export const MAX_ERROR_BYTES = 64 * 1024;

/** Reads an error body in any of the shapes of SERVERS.md; what is not JSON is shown as the text it is. */
export function parseServiceError(bytes: Uint8Array): ServiceError {
  const root = tryParseJson(bytes);
  if (!root) return { message: nonJsonMessage(bytes), issues: [] };
  const detail = getMember(root, 'detail');
  const issues = detail && kindOf(detail) === 'list' ? Array.from(itemsOf(detail)).flatMap(parseIssue) : [];
  if (issues.length > 0) return { message: undefined, issues };
  return { message: findMessage(root) ?? rawText(root), issues };
}

// In the order of preference; an `error` that is an object is looked into.
function findMessage(node: JsonNode): string | undefined {
  if (kindOf(node) === 'string') return stringOf(node);
  for (const name of ['error', 'message', 'detail', 'reason', 'msg', 'title']) {
    const inner = getMember(node, name);
    const text = inner && findMessage(inner);
    if (text) return text;
  }
  return undefined;
}

function parseIssue(entry: JsonNode): { path: JsonPath; message: string }[] {
  const message = getMember(entry, 'msg');
  const location = getMember(entry, 'loc');
  if (!message || kindOf(message) !== 'string' || !location) return [];
  const steps = Array.from(itemsOf(location), (step) =>
    kindOf(step) === 'number' ? Number(rawText(step)) : stringOf(step),
  );
  return [{ path: steps[0] === 'body' ? steps.slice(1) : steps, message: stringOf(message) }];
}

function nonJsonMessage(bytes: Uint8Array): string | undefined {
  const text = new TextDecoder().decode(bytes);
  const readable = /<html|<!doctype/i.test(text) ? (/<title>([^<]*)/i.exec(text)?.[1] ?? 'an HTML page') : text;
  return readable.trim() || undefined;
}
