import type { Issue } from '../errors.ts';
import { PathError } from '../json/edit.ts';
import { formatPath } from '../json/path.ts';
import { type Draft, setOne } from './draft.ts';
import type { Edit } from './edit.ts';

/** The draft with the edits of `--set` made one after the other, and what is wrong with those that lead nowhere. */
export function applySets(draft: Draft, edits: readonly Edit[]): { draft: Draft; issues: Issue[] } {
  const issues: Issue[] = [];
  const applied = edits.reduce((before, edit) => {
    try {
      return setOne(before, edit);
    } catch (error) {
      if (!(error instanceof PathError)) throw error;
      issues.push({ path: formatPath(edit.path), at: edit.origin.label, message: error.message });
      return before;
    }
  }, draft);
  return { draft: applied, issues };
}
