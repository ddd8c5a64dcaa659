import type { Issue } from '../errors.ts';
import { kindName, kindOf, rootOf } from '../json/json-node.ts';
import { formatJsonPath, nodeAtPath } from '../json/json-path.ts';
import { writeJson } from '../json/write-json.ts';
import type { FlagTarget } from '../operations/operation.ts';
import { type JsonSource, locationInSource } from './json-source.ts';

/** A whole body as the base of a draft. */
export interface ParsedBody {
  readonly source: JsonSource | undefined;
  /** Why flags cannot be added to it. */
  readonly editIssues: readonly Issue[];
}

/** A source as a whole body, or an issue if it is not an object, or if the object that flags fill is not one. */
export function toParsedBody(source: JsonSource, { path }: FlagTarget): ParsedBody | Issue {
  const root = rootOf(source.doc);
  const at = locationInSource(source);
  if (kindOf(root) !== 'object') return { path: '', at, message: `must be an object, not ${kindName(root)}` };
  const object = nodeAtPath(root, path);
  if (!object) return { path: '', at, message: `all fields belong in "${path[0]}": {"${path[0]}":{...}}` };
  if (kindOf(object) === 'object') return { source, editIssues: [] };
  const message = `must be an object, not ${kindName(object)}`;
  return { source, editIssues: [{ path: formatJsonPath(path), at: locationInSource(source, object), message }] };
}

/** The body that has nothing but the object that flags fill. */
export function emptyBodyJson({ path }: FlagTarget): string {
  return path.reduceRight<string>((inner, step) => `{${writeJson(String(step))}:${inner}}`, '{}');
}
