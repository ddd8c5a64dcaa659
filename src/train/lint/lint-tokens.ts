import {
  endOffset,
  getMember,
  itemsOf,
  type JsonNode,
  type JsonPath,
  kindOf,
  memberEntry,
  nameSignature,
  startOffset,
  stringOf,
} from '../../json/json-node.ts';
import type { FindingCallback } from './lint-findings.ts';

/** Reports a trajectory whose choices have no logprobs, or whose tokens are not `token_id:<n>` (docs/servers.md). */
export function lintTokens(trajectory: JsonNode, onFinding: FindingCallback): void {
  let tokens = 0;
  let textTokens = 0;
  let first: { readonly token: JsonNode; readonly path: JsonPath } | undefined;
  for (const { list, path } of tokenArrays(trajectory)) {
    const { doc } = list;
    const end = doc.tape[list.at * 3 + 2] ?? 0;
    const signature = nameSignature('token');
    let index = 0;
    for (let entry = list.at + 1; entry < end; entry = doc.tape[entry * 3 + 2] ?? end) {
      const at = memberEntry(doc, entry, 'token', signature);
      tokens += 1;
      if (at !== undefined && !isTokenId({ doc, at })) {
        textTokens += 1;
        first ??= { token: { doc, at }, path: [...path, index, 'token'] };
      }
      index += 1;
    }
  }
  if (tokens === 0) onFinding('no-logprobs', startOffset(trajectory), [], 'no choice has logprobs');
  if (!first) return;
  const more = textTokens > 1 ? ` (and ${textTokens - 1} more like this)` : '';
  onFinding(
    'token-text',
    startOffset(first.token),
    first.path,
    `${quoteToken(first.token)} is not token_id:<n>${more}`,
  );
}

// Trainers also use the additional histories.
function* tokenArrays(trajectory: JsonNode): Generator<{ list: JsonNode; path: JsonPath }> {
  yield* historyTokenArrays(trajectory, []);
  const more = getMember(trajectory, 'additional_histories');
  let at = 0;
  for (const history of more ? itemsOf(more) : []) {
    yield* historyTokenArrays(history, ['additional_histories', at]);
    at += 1;
  }
}

function* historyTokenArrays(history: JsonNode, path: JsonPath): Generator<{ list: JsonNode; path: JsonPath }> {
  const messages = getMember(history, 'messages_and_choices');
  let at = 0;
  for (const item of messages ? itemsOf(messages) : []) {
    // A message has a role; a choice has a message.
    const list = getMember(item, 'message') && getMember(getMember(item, 'logprobs'), 'content');
    if (list && kindOf(list) === 'list')
      yield { list, path: [...path, 'messages_and_choices', at, 'logprobs', 'content'] };
    at += 1;
  }
}

const TOKEN_ID_PREFIX = Array.from('"token_id:', (letter) => letter.charCodeAt(0));

// On the bytes, because there may be millions.
function isTokenId(token: JsonNode): boolean {
  const { bytes } = token.doc;
  const start = startOffset(token);
  const end = endOffset(token) - 1;
  const digits = start + TOKEN_ID_PREFIX.length;
  if (end <= digits) return false;
  for (let at = start; at < digits; at += 1) if (bytes[at] !== TOKEN_ID_PREFIX[at - start]) return false;
  for (let at = digits; at < end; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte < 0x30 || byte > 0x39) return false;
  }
  return true;
}

const MAX_TOKEN_CHARS = 40;

function quoteToken(token: JsonNode): string {
  if (kindOf(token) !== 'string') return 'a value that is not a string';
  const text = stringOf(token);
  return JSON.stringify(text.length > MAX_TOKEN_CHARS ? `${text.slice(0, MAX_TOKEN_CHARS)}…` : text);
}
