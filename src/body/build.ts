import type { Issue } from '../errors.ts';
import { listOf } from '../fields/flag.ts';
import { PathError } from '../json/edit.ts';
import { kindName, kindOf, rootOf } from '../json/node.ts';
import { formatPath, nodeAt } from '../json/path.ts';
import { writeJson } from '../json/write.ts';
import { type Target, targetOf } from '../operations/target.ts';
import { readBase } from './base.ts';
import { wrongBody } from './check.ts';
import type { Collected } from './collected.ts';
import { type Draft, draftOf, setAll, setOne } from './draft.ts';
import { fieldEdits } from './field-edits.ts';
import { readFiles } from './files.ts';
import { fillEdits, type Settings } from './fills.ts';
import type { Base, Given } from './given.ts';
import { setEdits } from './set-edits.ts';
import { shorthandEdits } from './shorthand-edits.ts';
import { isIssue, placeInSource, readSource, type Source } from './source.ts';
import type { Tools } from './tools.ts';

export interface BuildOptions {
  /** What to add where the body says nothing; absent for `--exact`. */
  readonly settings: Settings | undefined;
  /** The messages of `--conversation`. */
  readonly conversation: Source | undefined;
}

/** A body that is ready to be judged, and what could not become part of it. */
export interface Built {
  readonly draft: Draft;
  readonly unreadable: readonly Issue[];
}

/**
 * Makes the body of a request from a file or stdin, field flags, shorthands, `--set` and what svc adds, each changing
 * only the members it names. Throws Failure: usage, `local` for files, `body` for a whole body that cannot be read.
 */
export async function buildBody(given: Given, { settings, conversation }: BuildOptions, tools: Tools): Promise<Built> {
  const { operation, args, flags } = given;
  const target = targetOf(operation);
  const base = await readBase(given, tools);
  const files = await readFiles(operation, args, flags, tools);
  const fields = await fieldEdits(target, files.otherFlags, tools);
  const sets = setEdits(target, listOf(flags, 'set'));
  const source = readWhole(base, target);
  const isChanged = fields.edits.length + files.edits.edits.length > 0;
  const early = [
    ...(isIssue(source) ? [source] : isChanged ? source.closed : []),
    ...files.edits.issues,
    ...fields.issues,
    ...sets.issues,
  ];
  if (isIssue(source)) throw wrongBody(early);

  let draft = setAll(draftOf(source.source, emptyBody(target)), target.path, [...fields.edits, ...files.edits.edits]);
  const shorthands = await shorthandEdits(operation, draft, flags, { prompt: base.prompt, conversation }, tools);
  draft = setAll(draft, target.path, shorthands.edits);
  const set = applySets(draft, sets);
  draft = settings ? setAll(set.draft, target.path, fillEdits(set.draft, target, settings, tools)) : set.draft;
  return { draft, unreadable: [...early, ...shorthands.issues, ...set.issues] };
}

interface Whole {
  readonly source: Source | undefined;
  /** Why flags cannot be added to it. */
  readonly closed: readonly Issue[];
}

function readWhole({ whole }: Base, { path }: Target): Whole | Issue {
  if (!whole) return { source: undefined, closed: [] };
  const source = readSource(whole.label, whole.bytes);
  if (isIssue(source)) return source;
  const root = rootOf(source.doc);
  const at = placeInSource(source);
  if (kindOf(root) !== 'object') return { path: '', at, message: `must be an object, not ${kindName(root)}` };
  const object = nodeAt(root, path);
  if (!object) return { path: '', at, message: `everything goes inside "${path[0]}": {"${path[0]}":{...}}` };
  if (kindOf(object) === 'object') return { source, closed: [] };
  const message = `must be an object, not ${kindName(object)}`;
  return { source, closed: [{ path: formatPath(path), at: placeInSource(source, object), message }] };
}

function emptyBody({ path }: Target): string {
  return path.reduceRight<string>((inner, step) => `{${writeJson(String(step))}:${inner}}`, '{}');
}

function applySets(draft: Draft, { edits }: Collected): { draft: Draft; issues: Issue[] } {
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
