import { type Draft, draftOf, setAll } from '../body/draft.ts';
import type { filler, Settings } from '../body/fills.ts';
import { isIssue } from '../body/source.ts';
import type { Tools } from '../body/tools.ts';
import { emptyBody, wholeBody } from '../body/whole.ts';
import type { Issue } from '../errors.ts';
import { uuid5 } from '../fields/uuid.ts';
import type { Operation } from '../operations/operation.ts';
import { targetOf } from '../operations/target.ts';
import { type Defaults, withDefaults } from './defaults.ts';
import type { LineBody } from './line-body.ts';

/** What the bodies of a batch have in common. */
export interface Recipe {
  readonly operation: Operation;
  readonly defaults: Defaults;
  /** What svc adds where a body says nothing; absent for `--exact`. */
  readonly settings: Settings | undefined;
  readonly fill: ReturnType<typeof filler>;
  /** The id of the run, a UUID. */
  readonly run: string;
  readonly tools: Tools;
}

/**
 * The body of a line, with defaults and what svc adds, or why there is none. Ids are made of the run, the line and the
 * member, so that a line that is sent again is the same call; `at`, in milliseconds since 1970, is the time it says.
 */
export async function lineDraft(
  { source }: LineBody,
  line: number,
  at: number,
  { operation, defaults, settings, fill, run, tools }: Recipe,
): Promise<Draft | Issue> {
  if (isIssue(source)) return source;
  const target = targetOf(operation);
  const whole = wholeBody(source, target);
  if (isIssue(whole)) return whole;
  const [closed] = whole.closed;
  if (closed) return closed;
  const draft = await withDefaults(draftOf(source, emptyBody(target)), operation, defaults, tools);
  if (!settings) return draft;
  const filling = { now: () => at, newId: (member: string) => uuid5(run, `${line} ${member}`) };
  return setAll(draft, target.path, fill(draft, settings, filling));
}
