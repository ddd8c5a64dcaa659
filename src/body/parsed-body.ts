import type { Issue } from '../errors.ts';
import {
  formatJsonPath,
  getMember,
  type JsonNode,
  type JsonPath,
  kindName,
  kindOf,
  nodeAtPath,
  rootOf,
} from '../json/json-node.ts';
import { writeJson } from '../json/write-json.ts';
import type { FlagTarget } from '../operations/operation.ts';
import { type JsonSource, locationInSource } from './json-source.ts';

/** A whole body as the base of a draft. */
export interface ParsedBody {
  readonly source: JsonSource | undefined;
  /** The reason why flags cannot be added to it. */
  readonly editIssues: readonly Issue[];
}

/** A source as a whole body, or an issue if it is not an object. */
export function toParsedBody(source: JsonSource, target: FlagTarget): ParsedBody | Issue {
  const { path } = target;
  const root = rootOf(source.doc);
  const at = locationInSource(source);
  if (kindOf(root) !== 'object') return { path: '', at, message: `must be an object, not ${kindName(root)}` };
  const object = nodeAtPath(root, path);
  if (object && kindOf(object) === 'object') return { source, editIssues: [] };
  const message = object
    ? `must be an object, not ${kindName(object)}`
    : `is required${nestingHint(root, path, target)}`;
  return { source, editIssues: [{ path: formatJsonPath(path), at: locationInSource(source, object), message }] };
}

/** Where the fields belong, if the missing value at `path` is the object that flags fill and the body has fields of it. */
export function nestingHint(root: JsonNode, path: JsonPath, target: FlagTarget): string {
  const isNested =
    path.length === 1 && path[0] === target.path[0] && Object.keys(target.fields).some((name) => getMember(root, name));
  return isNested ? `; write {"${path[0]}":{...}}` : '';
}

/** The body that has nothing but the object that flags fill. */
export function emptyBodyJson({ path }: FlagTarget): string {
  return path.reduceRight<string>((inner, step) => `{${writeJson(String(step))}:${inner}}`, '{}');
}
