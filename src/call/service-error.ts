import { parseJson } from '../json/document.ts';
import { JsonError } from '../json/json-error.ts';
import { itemsOf, type JsonNode, kindOf, member, rootOf, stringOf, textOf } from '../json/node.ts';
import type { Path } from '../json/path.ts';

/** What a service said about a failure: its words, and the places in the body it named. */
export interface ServiceError {
  readonly message: string | undefined;
  readonly issues: readonly { readonly path: Path; readonly message: string }[];
}

/** The most bytes of an error body that are read; some servers echo the whole request. */
export const errorBytes = 64 * 1024;

/** Reads an error body in any of the shapes of SERVERS.md; what is not JSON is shown as the text it is. */
export function readServiceError(bytes: Uint8Array): ServiceError {
  const root = parsed(bytes);
  if (!root) return { message: plainText(bytes), issues: [] };
  const detail = member(root, 'detail');
  const issues = detail && kindOf(detail) === 'list' ? Array.from(itemsOf(detail)).flatMap(issueOf) : [];
  if (issues.length > 0) return { message: undefined, issues };
  return { message: messageIn(root) ?? textOf(root), issues };
}

// In the order of preference; an `error` that is an object is looked into.
function messageIn(node: JsonNode): string | undefined {
  if (kindOf(node) === 'string') return stringOf(node);
  for (const name of ['error', 'message', 'detail', 'reason', 'msg', 'title']) {
    const inner = member(node, name);
    const text = inner && messageIn(inner);
    if (text) return text;
  }
  return undefined;
}

function issueOf(entry: JsonNode): { path: Path; message: string }[] {
  const message = member(entry, 'msg');
  const location = member(entry, 'loc');
  if (!message || kindOf(message) !== 'string' || !location) return [];
  const steps = Array.from(itemsOf(location), (step) =>
    kindOf(step) === 'number' ? Number(textOf(step)) : stringOf(step),
  );
  return [{ path: steps[0] === 'body' ? steps.slice(1) : steps, message: stringOf(message) }];
}

function parsed(bytes: Uint8Array): JsonNode | undefined {
  try {
    return rootOf(parseJson(bytes));
  } catch (error) {
    if (error instanceof JsonError) return undefined;
    throw error;
  }
}

function plainText(bytes: Uint8Array): string | undefined {
  const text = new TextDecoder().decode(bytes);
  const readable = /<html|<!doctype/i.test(text) ? (/<title>([^<]*)/i.exec(text)?.[1] ?? 'an HTML page') : text;
  return readable.trim() || undefined;
}
