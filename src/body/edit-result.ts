import type { Issue } from '../errors.ts';
import type { Edit } from './edit.ts';

/** What flags made of themselves: edits, and what is wrong with those that could not become one. */
export interface EditResult {
  readonly edits: readonly Edit[];
  readonly issues: readonly Issue[];
}
