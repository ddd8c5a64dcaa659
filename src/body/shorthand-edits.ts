import { usage } from '../errors.ts';
import { flagName } from '../fields/field.ts';
import { type FlagValues, isOn, textOf } from '../fields/flag.ts';
import { timeAgo } from '../fields/time.ts';
import { textOf as rawText, rootOf } from '../json/node.ts';
import { nodeAt } from '../json/path.ts';
import type { Operation } from '../operations/operation.ts';
import type { Shorthand } from '../operations/shorthand.ts';
import { targetOf } from '../operations/target.ts';
import type { Collected } from './collected.ts';
import type { Draft } from './draft.ts';
import { type MessageSources, messageEdits } from './messages.ts';
import { replySchemaEdit } from './reply-schema.ts';
import type { Tools } from './tools.ts';

const nothing: Collected = { edits: [], issues: [] };

/**
 * The edits of an operation's shorthands, made on a draft that has the field flags already. Throws usage where a
 * shorthand meets the flag it stands for.
 */
export async function shorthandEdits(
  operation: Operation,
  draft: Draft,
  flags: FlagValues,
  messages: MessageSources,
  tools: Tools,
): Promise<Collected> {
  const found: Collected[] = [];
  for (const [name, shorthand] of Object.entries(operation.shorthands ?? {})) {
    if (flags.has(name)) found.push(await shorthandEdit(name, shorthand, operation, draft, flags, tools));
  }
  if (operation.arguments?.as === 'prompt') found.push(messageEdits(draft, flags, messages));
  return { edits: found.flatMap(({ edits }) => edits), issues: found.flatMap(({ issues }) => issues) };
}

async function shorthandEdit(
  name: string,
  shorthand: Shorthand,
  operation: Operation,
  draft: Draft,
  flags: FlagValues,
  tools: Tools,
): Promise<Collected> {
  const word = textOf(flags, name) ?? '';
  const { path } = targetOf(operation);
  const origin = { label: `--${name}` };
  switch (shorthand.kind) {
    case 'age': {
      refuseBoth(name, shorthand.member, flags);
      const time = timeAgo(word, tools.now());
      if (time === undefined)
        throw usage(`--${name} cannot read ${JSON.stringify(word)}`, 'write an age: 90s, 15m, 12h, 7d, 2w');
      return { edits: [{ path: [...path, shorthand.member], text: JSON.stringify(time), origin }], issues: [] };
    }
    case 'copy': {
      refuseBoth(name, shorthand.to, flags);
      const source = nodeAt(rootOf(draft.doc), [...path, shorthand.from]);
      // Without a source the judge says that it is missing.
      if (!source || !isOn(flags, name)) return nothing;
      return { edits: [{ path: [...path, shorthand.to], text: rawText(source), origin }], issues: [] };
    }
    case 'reply-schema':
      refuseBoth(name, 'response_format', flags);
      return replySchemaEdit(word, tools);
    default:
      return nothing;
  }
}

function refuseBoth(name: string, memberName: string, flags: FlagValues): void {
  const other = flagName(memberName);
  if (flags.has(other)) throw usage(`--${name} and --${other} set the same member`, 'give one of them');
}
