import { bytesOf, itemsOf, type JsonNode, kindOf, member, startOf, stringOf } from '../json/node.ts';
import type { Path } from '../json/path.ts';
import type { Remark } from './findings.ts';

/** Remarks of a trajectory that no choice has logprobs, or that tokens in them are not `token_id:<n>` (SERVERS.md). */
export function examineTokens(trajectory: JsonNode, remark: Remark): void {
  let tokens = 0;
  let texts = 0;
  let first: { readonly token: JsonNode; readonly path: Path } | undefined;
  for (const { list, path } of tokenLists(trajectory)) {
    let at = 0;
    for (const entry of itemsOf(list)) {
      const token = member(entry, 'token');
      tokens += 1;
      if (token && !isTokenId(bytesOf(token))) {
        texts += 1;
        first ??= { token, path: [...path, at, 'token'] };
      }
      at += 1;
    }
  }
  if (tokens === 0) remark('no-logprobs', startOf(trajectory), [], 'no choice has logprobs');
  if (!first) return;
  const more = texts > 1 ? ` (and ${texts - 1} more like this)` : '';
  remark('token-text', startOf(first.token), first.path, `${shown(first.token)} is not token_id:<n>${more}`);
}

// Those of further histories are trained on as well.
function* tokenLists(trajectory: JsonNode): Generator<{ list: JsonNode; path: Path }> {
  yield* ofHistory(trajectory, []);
  const more = member(trajectory, 'additional_histories');
  let at = 0;
  for (const history of more ? itemsOf(more) : []) {
    yield* ofHistory(history, ['additional_histories', at]);
    at += 1;
  }
}

function* ofHistory(history: JsonNode, path: Path): Generator<{ list: JsonNode; path: Path }> {
  const messages = member(history, 'messages_and_choices');
  let at = 0;
  for (const item of messages ? itemsOf(messages) : []) {
    // A message has a role of its own; a choice has a message.
    const list = member(item, 'message') && member(member(item, 'logprobs'), 'content');
    if (list) yield { list, path: [...path, 'messages_and_choices', at, 'logprobs', 'content'] };
    at += 1;
  }
}

const WRITTEN = Array.from('"token_id:', (letter) => letter.charCodeAt(0));

// On the bytes, because there may be millions.
function isTokenId(text: Uint8Array): boolean {
  const end = text.length - 1;
  if (end <= WRITTEN.length || WRITTEN.some((byte, at) => text[at] !== byte)) return false;
  for (let at = WRITTEN.length; at < end; at += 1) {
    const byte = text[at] ?? 0;
    if (byte < 0x30 || byte > 0x39) return false;
  }
  return true;
}

const LONGEST = 40;

function shown(token: JsonNode): string {
  if (kindOf(token) !== 'string') return 'what is no string';
  const text = stringOf(token);
  return JSON.stringify(text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text);
}
