import type { Issue } from '../errors.ts';
import type { StringOrBytes } from '../json/edit.ts';
import type { JsonNode, JsonPath } from '../json/json-node.ts';
import type { Attachment } from './chat/attachment.ts';
import { isIssue, type JsonSource } from './json-source.ts';

/** The origin of a value: its label in messages, and its source if the value is a JSON document. */
export interface ValueOrigin {
  readonly label: string;
  readonly source?: JsonSource;
  /** The value within the source; all of it if absent. */
  readonly node?: JsonNode | undefined;
  /** The path of the value in its source, if it differs from the one in the body. */
  readonly path?: JsonPath | undefined;
  /** The argument, if its value differs from run to run: `random`, or an age. */
  readonly argument?: string;
}

/** A value to put into the body: JSON, at a path. */
export interface Edit {
  readonly path: JsonPath;
  readonly text: StringOrBytes;
  readonly origin: ValueOrigin;
  /** The origin of each element, if the value is an array built from several flags. */
  readonly items?: readonly ValueOrigin[];
  /** The files for which the text has placeholders. */
  readonly attachments?: readonly Attachment[];
}

/** The edits that flags request, and the issues of invalid flags. */
export interface EditResult {
  readonly edits: readonly Edit[];
  readonly issues: readonly Issue[];
}

/** The edits that several flags made, and the issues of those that could not become one. */
export function collectEdits(results: readonly (Edit | Issue)[]): EditResult {
  return { edits: results.filter((result): result is Edit => !isIssue(result)), issues: results.filter(isIssue) };
}
