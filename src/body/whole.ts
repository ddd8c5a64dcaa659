import type { Issue } from '../errors.ts';
import { kindName, kindOf, rootOf } from '../json/node.ts';
import { formatPath, nodeAt } from '../json/path.ts';
import { writeJson } from '../json/write.ts';
import type { Target } from '../operations/target.ts';
import { placeInSource, type Source } from './source.ts';

/** A whole body as the base of a draft. */
export interface Whole {
  readonly source: Source | undefined;
  /** Why flags cannot be added to it. */
  readonly closed: readonly Issue[];
}

/** A source as a whole body, or why it is none: it has to be an object, with the one that flags fill in its place. */
export function wholeBody(source: Source, { path }: Target): Whole | Issue {
  const root = rootOf(source.doc);
  const at = placeInSource(source);
  if (kindOf(root) !== 'object') return { path: '', at, message: `must be an object, not ${kindName(root)}` };
  const object = nodeAt(root, path);
  if (!object) return { path: '', at, message: `everything goes inside "${path[0]}": {"${path[0]}":{...}}` };
  if (kindOf(object) === 'object') return { source, closed: [] };
  const message = `must be an object, not ${kindName(object)}`;
  return { source, closed: [{ path: formatPath(path), at: placeInSource(source, object), message }] };
}

/** The body that has nothing but the object that flags fill. */
export function emptyBody({ path }: Target): string {
  return path.reduceRight<string>((inner, step) => `{${writeJson(String(step))}:${inner}}`, '{}');
}
