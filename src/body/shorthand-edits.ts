import type { Issue } from '../errors.ts';
import { ageToTimestamp } from '../fields/string-formats.ts';
import { type FlagValues, getArrayFlag, getStringFlag, isFlagOn } from '../flag.ts';
import { nodeAtPath, rawText, rootOf } from '../json/json-node.ts';
import { flagTarget, type Operation, type Shorthand } from '../operations/operation.ts';
import { type MessageSources, messageEdits } from './chat/message-edits.ts';
import { responseFormatEdit } from './chat/response-format.ts';
import type { Draft } from './draft.ts';
import { collectEdits, type Edit, type EditResult } from './edit.ts';
import type { BodyDependencies } from './input-reader.ts';

/** The edits of an operation's shorthands, for a draft with the field flags. */
export async function shorthandEdits(
  operation: Operation,
  draft: Draft,
  flags: FlagValues,
  messages: Omit<MessageSources, 'attachments'>,
  dependencies: BodyDependencies,
): Promise<EditResult> {
  const { path: target } = flagTarget(operation);
  const results: (Edit | Issue)[] = [];
  for (const [name, shorthand] of Object.entries(operation.shorthands ?? {})) {
    if (!flags.has(name)) continue;
    const word = getStringFlag(flags, name) ?? '';
    const label = `--${name}`;
    if (shorthand.kind === 'age') {
      // rejectInvalidFlags lets only ages pass.
      const time = ageToTimestamp(word, dependencies.now()) ?? word;
      const origin = { label, argument: word };
      results.push({ path: [...target, shorthand.member], text: JSON.stringify(time), origin });
    } else if (shorthand.kind === 'reply-schema') {
      results.push(await responseFormatEdit(word, dependencies));
    }
  }
  if (operation.arguments?.as === 'prompt') {
    const files = getArrayFlag(flags, 'attach');
    const attachments =
      files.length === 0 ? [] : await (await import('./chat/attachment.ts')).readAttachments(files, dependencies);
    results.push(...messageEdits(draft, flags, { ...messages, attachments }));
  }
  return collectEdits(results);
}

/** The edits of the shorthands that copy a field, for a draft with all other flags. The validator reports a missing one. */
export function copyEdits(operation: Operation, draft: Draft, flags: FlagValues): Edit[] {
  const { path } = flagTarget(operation);
  return Object.entries(operation.shorthands ?? {}).flatMap(([name, shorthand]) => {
    if (shorthand.kind !== 'copy' || !isFlagOn(flags, name)) return [];
    const source = nodeAtPath(rootOf(draft.doc), [...path, shorthand.from]);
    return source ? [{ path: [...path, shorthand.to], text: rawText(source), origin: { label: `--${name}` } }] : [];
  });
}

/** The fields that a shorthand sets as a whole; messages are combined with those of the body. */
export function shorthandFields(shorthand: Shorthand): readonly string[] {
  switch (shorthand.kind) {
    case 'age':
      return [shorthand.member];
    case 'copy':
      return [shorthand.to];
    case 'prefill':
      return ['continue_final_message', 'add_generation_prompt'];
    case 'reply-schema':
      return ['response_format'];
    default:
      return [];
  }
}
