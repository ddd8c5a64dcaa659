import { isTrue, type JsonNode, kindOf, member, rootOf, textOf } from '../json/node.ts';
import { compareNumbers } from '../json/number.ts';
import type { Operation } from '../operations/operation.ts';
import { type Draft, setAll } from './draft.ts';

/** How many replies a chat body asks for. */
export function choicesAsked(body: JsonNode): number {
  const n = member(body, 'n');
  return n && kindOf(n) === 'number' && compareNumbers(textOf(n), '1') > 0 ? Number(textOf(n)) : 1;
}

/**
 * The draft with `stream: true`, when the reply is about to be shown as it comes and the body neither says anything
 * about it nor asks for what cannot be streamed. `live`: one text on a terminal; `chunks`: each chunk as it comes.
 */
export function withStream(draft: Draft, { streams }: Operation, shown: 'live' | 'chunks'): Draft {
  const body = rootOf(draft.doc);
  const cannot = isPresent(member(body, 'prompt_logprobs')) || isTrue(member(body, 'use_beam_search'));
  if (!streams || cannot || member(body, 'stream') || (shown === 'live' && choicesAsked(body) > 1)) return draft;
  return setAll(draft, [], [{ path: ['stream'], text: 'true', origin: { label: 'svc' } }]);
}

function isPresent(node: JsonNode | undefined): boolean {
  return node !== undefined && kindOf(node) !== 'null';
}
