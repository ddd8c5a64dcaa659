import type { Issue } from '../errors.ts';
import type { StringOrBytes } from '../json/edit.ts';
import type { JsonNode } from '../json/json-node.ts';
import type { JsonPath } from '../json/json-path.ts';
import { isIssue, type JsonSource } from './json-source.ts';

/** Where a value came from: what to call it, and the source it stands in if it is JSON of its own. */
export interface ValueOrigin {
  readonly label: string;
  readonly source?: JsonSource;
  /** The value within the source; all of it if absent. */
  readonly node?: JsonNode | undefined;
}

/** A value to put into the body: JSON, at a path. */
export interface Edit {
  readonly path: JsonPath;
  readonly text: StringOrBytes;
  readonly origin: ValueOrigin;
  /** Of a list that was put together, where each element came from. */
  readonly items?: readonly ValueOrigin[];
}

/** What flags made of themselves: edits, and what is wrong with those that could not become one. */
export interface EditResult {
  readonly edits: readonly Edit[];
  readonly issues: readonly Issue[];
}

/** The edits that several flags made, and the issues of those that could not become one. */
export function collectEdits(results: readonly (Edit | Issue)[]): EditResult {
  return { edits: results.filter((result): result is Edit => !isIssue(result)), issues: results.filter(isIssue) };
}
