import type { Issue } from '../errors.ts';
import type { FlagValues } from '../flag.ts';
import { flagTarget, type Operation } from '../operations/operation.ts';
import type { MessageSources } from './chat/message-edits.ts';
import { type Draft, setDraftFields } from './draft.ts';
import type { Edit } from './edit.ts';
import type { BodyDependencies } from './input-reader.ts';
import { applySetFlags } from './set-flags.ts';
import { copyEdits, shorthandEdits } from './shorthand-edits.ts';

/**
 * A draft that has the field flags, with the shorthands and the edits of `--set`; a shorthand that copies a field comes
 * last, so that the copy is what is sent.
 */
export async function applyFlags(
  draft: Draft,
  operation: Operation,
  flags: FlagValues,
  sets: readonly Edit[],
  messages: Omit<MessageSources, 'attachments'>,
  dependencies: BodyDependencies,
): Promise<{ draft: Draft; issues: Issue[] }> {
  const { path } = flagTarget(operation);
  const shorthands = await shorthandEdits(operation, draft, flags, messages, dependencies);
  const result = applySetFlags(setDraftFields(draft, path, shorthands.edits), sets);
  return {
    draft: setDraftFields(result.draft, path, copyEdits(operation, result.draft, flags)),
    issues: [...shorthands.issues, ...result.issues],
  };
}
