import { usage } from '../errors.ts';
import { type FlagValues, textOf as flagText, listOf } from '../fields/flag.ts';
import { itemsOf, type JsonNode, kindOf, member, rootOf, stringIn, textOf } from '../json/node.ts';
import { writeJson } from '../json/write.ts';
import type { Collected } from './collected.ts';
import { type Draft, originInDraft, placeInDraft } from './draft.ts';
import type { Edit, Origin } from './edit.ts';
import type { Source } from './source.ts';

/** What adds messages besides the flags. */
export interface MessageSources {
  /** The prompt: words, piped text, or both. */
  readonly prompt: string | undefined;
  /** The messages of `--conversation`. */
  readonly conversation: Source | undefined;
}

interface Message {
  readonly text: string;
  readonly role: string | undefined;
  readonly origin: Origin;
}

/**
 * The list of messages that a chat's shorthands make, in the order system, developer, conversation, those of the body,
 * `--message`, prompt, prefill; a system or developer message that leads gives way to the one of the flag. No edit where
 * none of them is given.
 */
export function messageEdits(draft: Draft, flags: FlagValues, { prompt, conversation }: MessageSources): Collected {
  const prefill = flagText(flags, 'prefill');
  const leading = [
    ...spoken('system', flagText(flags, 'system'), '--system'),
    ...spoken('developer', flagText(flags, 'developer'), '--developer'),
  ];
  const trailing = [
    ...listOf(flags, 'message').map(spokenAs),
    ...spoken('user', prompt, 'prompt'),
    ...spoken('assistant', prefill, '--prefill'),
  ];
  if (leading.length + trailing.length === 0 && !conversation) return { edits: [], issues: [] };
  const present = member(rootOf(draft.doc), 'messages');
  if (present && kindOf(present) !== 'list') {
    const message = 'must be a list for messages to be added to it';
    return { edits: [], issues: [{ path: 'messages', at: placeInDraft(draft, ['messages']), message }] };
  }
  const given = [...fromConversation(conversation), ...fromBody(draft, present)];
  const messages = [...leading, ...withoutReplaced(given, leading), ...trailing];
  const list: Edit = {
    path: ['messages'],
    text: `[${messages.map(({ text }) => text).join(',')}]`,
    origin: { label: 'prompt' },
    items: messages.map(({ origin }) => origin),
  };
  return { edits: prefill === undefined ? [list] : [list, ...continuing], issues: [] };
}

const continuing: readonly Edit[] = [
  { path: ['continue_final_message'], text: 'true', origin: { label: '--prefill' } },
  { path: ['add_generation_prompt'], text: 'false', origin: { label: '--prefill' } },
];

// A conversation begins with what was said for the reply before: said again, it is said instead, not twice.
function withoutReplaced(given: readonly Message[], leading: readonly Message[]): readonly Message[] {
  const first = given.findIndex(({ role }) => role !== 'system' && role !== 'developer');
  const head = first === -1 ? given : given.slice(0, first);
  const replaced = leading.map(({ role }) => head.find((message) => message.role === role));
  return given.filter((message) => !replaced.includes(message));
}

function spoken(role: string, content: string | undefined, label: string): Message[] {
  return content === undefined ? [] : [{ text: writeJson({ role, content }), role, origin: { label } }];
}

function spokenAs(word: string): Message {
  const [, role, content] = /^([A-Za-z][\w-]*):(.*)$/s.exec(word) ?? [];
  if (role === undefined)
    throw usage(`--message cannot read ${JSON.stringify(word)}`, 'write role:text, such as user:Hello');
  return { text: writeJson({ role, content }), role, origin: { label: '--message' } };
}

function fromConversation(conversation: Source | undefined): Message[] {
  if (!conversation) return [];
  return Array.from(itemsOf(rootOf(conversation.doc)), (node) => {
    return {
      text: textOf(node),
      role: stringIn(node, 'role'),
      origin: { label: conversation.label, source: conversation, node },
    };
  });
}

function fromBody(draft: Draft, list: JsonNode | undefined): Message[] {
  if (!list) return [];
  return Array.from(itemsOf(list), (node, at) => {
    return { text: textOf(node), role: stringIn(node, 'role'), origin: originInDraft(draft, ['messages', at]) };
  });
}
