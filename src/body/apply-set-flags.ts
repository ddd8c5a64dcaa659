import type { Issue } from '../errors.ts';
import { JsonPathError } from '../json/edit.ts';
import { formatJsonPath } from '../json/json-path.ts';
import { type Draft, setDraftPath } from './draft.ts';
import type { Edit } from './edit.ts';

/** The draft with the edits of `--set` made one after the other, and what is wrong with those that lead nowhere. */
export function applySetFlags(draft: Draft, edits: readonly Edit[]): { draft: Draft; issues: Issue[] } {
  const issues: Issue[] = [];
  const editedDraft = edits.reduce((before, edit) => {
    try {
      return setDraftPath(before, edit);
    } catch (error) {
      if (!(error instanceof JsonPathError)) throw error;
      issues.push({ path: formatJsonPath(edit.path), at: edit.origin.label, message: error.message });
      return before;
    }
  }, draft);
  return { draft: editedDraft, issues };
}
