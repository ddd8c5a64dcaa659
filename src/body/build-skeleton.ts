import type { Issue } from '../errors.ts';
import { minimalBody } from '../fields/field.ts';
import type { FlagValues } from '../flag.ts';
import { writeJson } from '../json/write-json.ts';
import { flagTarget, type Operation } from '../operations/operation.ts';
import { createBodyCheck } from './body-check.ts';
import { createDraft, type Draft, orderAddedFields, setDraftFields } from './draft.ts';
import { applyFlags, fieldEdits, setFlagEdits } from './flag-edits.ts';
import type { BodyDependencies } from './input-reader.ts';
import { rejectInvalidFlags } from './reject-invalid-flags.ts';

/** A body to start from, and the warnings about it. */
export interface Skeleton {
  readonly draft: Draft;
  readonly warnings: readonly Issue[];
}

/**
 * The smallest body of an operation that passes all checks, with the fields of flags. Throws as rejectInvalidFlags does,
 * and Failure `body` for values that are not valid, or that most servers reject.
 */
export async function buildSkeleton(
  operation: Operation,
  flags: FlagValues,
  dependencies: BodyDependencies,
): Promise<Skeleton> {
  const target = flagTarget(operation);
  rejectInvalidFlags(operation, flags, dependencies.now());
  const fields = await fieldEdits(target, flags, dependencies);
  const sets = setFlagEdits(operation, flags);
  const smallest = createDraft(undefined, writeJson(minimalBody(operation.body)));
  const draft = setDraftFields(smallest, target.path, fields.edits);
  const applied = await applyFlags(draft, operation, flags, sets.edits, {}, dependencies);
  const issues = [...fields.issues, ...sets.issues, ...applied.issues];
  const skeleton = orderAddedFields(applied.draft, target);
  const check = await createBodyCheck(operation, { isStrict: false, isAdviceStrict: true, isCheckDisabled: false });
  const { warnings, failure } = check(skeleton, issues);
  if (failure) throw failure;
  return { draft: skeleton, warnings };
}
