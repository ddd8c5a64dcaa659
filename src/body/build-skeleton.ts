import { minimalBody } from '../fields/sample.ts';
import { type FlagValues, getArrayFlag } from '../flag.ts';
import { writeJson } from '../json/write-json.ts';
import { flagTarget, type Operation } from '../operations/operation.ts';
import { createBodyCheck } from './body-check.ts';
import { createDraft, type Draft, orderAddedFields, setDraftFields } from './draft.ts';
import { fieldEdits } from './field-edits.ts';
import type { BodyDependencies } from './input-reader.ts';
import { applySetFlags, setFlagEdits } from './set-flags.ts';
import { shorthandEdits } from './shorthand-edits.ts';

/** The smallest body of an operation that passes all checks, with the fields of flags. Throws Failure `body` for flags that are not valid. */
export async function buildSkeleton(
  operation: Operation,
  flags: FlagValues,
  dependencies: BodyDependencies,
): Promise<Draft> {
  const target = flagTarget(operation);
  const fields = await fieldEdits(target, flags, dependencies);
  const sets = setFlagEdits(target, getArrayFlag(flags, 'set'));
  const smallest = createDraft(undefined, writeJson(minimalBody(operation.body)));
  const draft = setDraftFields(smallest, target.path, fields.edits);
  const noMessages = { prompt: undefined, conversation: undefined };
  const shorthands = await shorthandEdits(operation, draft, flags, noMessages, dependencies);
  const result = applySetFlags(setDraftFields(draft, target.path, shorthands.edits), sets.edits);
  const issues = [...fields.issues, ...sets.issues, ...shorthands.issues, ...result.issues];
  const skeleton = orderAddedFields(result.draft, target);
  const check = await createBodyCheck(operation, { strict: false, noCheck: false });
  const { failure } = check(skeleton, issues);
  if (failure) throw failure;
  return skeleton;
}
