import type { Issue } from '../errors.ts';
import { listOf } from '../fields/flag.ts';
import { uuid7 } from '../fields/uuid.ts';
import { type Target, targetOf } from '../operations/target.ts';
import { applySets } from './apply-sets.ts';
import { readBase } from './base.ts';
import { wrongBody } from './check.ts';
import { type Draft, draftOf, setAll } from './draft.ts';
import { fieldEdits } from './field-edits.ts';
import { filesGiven } from './files.ts';
import { type Filling, filler, type Settings } from './fills.ts';
import type { Base, Given } from './given.ts';
import { setEdits } from './set-edits.ts';
import { shorthandEdits } from './shorthand-edits.ts';
import { isIssue, readSource, type Source } from './source.ts';
import type { Tools } from './tools.ts';
import { emptyBody, type Whole, wholeBody } from './whole.ts';

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
  const files = filesGiven(operation, args, flags);
  const fields = await fieldEdits(target, files.otherFlags, tools);
  const sets = setEdits(target, listOf(flags, 'set'));
  const source = readWhole(base, target);
  const isChanged = fields.edits.length + files.edits.length > 0;
  const early = [...(isIssue(source) ? [source] : isChanged ? source.closed : []), ...fields.issues, ...sets.issues];
  if (isIssue(source)) throw wrongBody(early);

  let draft = setAll(draftOf(source.source, emptyBody(target)), target.path, [...fields.edits, ...files.edits]);
  const shorthands = await shorthandEdits(operation, draft, flags, { prompt: base.prompt, conversation }, tools);
  draft = setAll(draft, target.path, shorthands.edits);
  const set = applySets(draft, sets.edits);
  draft = settings ? setAll(set.draft, target.path, filler(target)(set.draft, settings, fills(tools))) : set.draft;
  return { draft, unreadable: [...early, ...shorthands.issues, ...set.issues] };
}

function readWhole({ whole }: Base, target: Target): Whole | Issue {
  if (!whole) return { source: undefined, closed: [] };
  const read = whole.wrong ?? readSource(whole.label, whole.bytes);
  return isIssue(read) ? read : wholeBody({ ...read, position: whole.position ?? read.position }, target);
}

// Ids that nobody has seen before, made now.
function fills({ now, randomBytes }: Tools): Filling {
  return { now, newId: () => uuid7(now(), randomBytes(10)) };
}
