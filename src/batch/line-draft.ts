import type { AutofillSettings, createAutofill } from '../body/autofill.ts';
import type { BodyDependencies } from '../body/body-dependencies.ts';
import { createDraft, type Draft, setDraftFields } from '../body/draft.ts';
import { isIssue } from '../body/json-source.ts';
import { emptyBodyJson, toParsedBody } from '../body/parsed-body.ts';
import type { Issue } from '../errors.ts';
import { uuidV5 } from '../fields/uuid.ts';
import { flagTarget } from '../operations/flag-target.ts';
import type { Operation } from '../operations/operation.ts';
import type { LineBody } from './line-body.ts';
import { applyLineDefaults, type LineDefaults } from './line-defaults.ts';

/** What the bodies of a batch have in common. */
export interface LineDraftOptions {
  readonly operation: Operation;
  readonly defaults: LineDefaults;
  /** What svc adds where a body says nothing; absent for `--exact`. */
  readonly settings: AutofillSettings | undefined;
  readonly fill: ReturnType<typeof createAutofill>;
  /** The id of the run, a UUID. */
  readonly run: string;
  readonly tools: BodyDependencies;
}

/**
 * The body of a line, with defaults and what svc adds, or why there is none. Ids are made of the run, the line and the
 * member, so that a line that is sent again is the same call; `at`, in milliseconds since 1970, is the time it says.
 */
export async function createLineDraft(
  { source }: LineBody,
  line: number,
  timestampMs: number,
  { operation, defaults, settings, fill, run, tools }: LineDraftOptions,
): Promise<Draft | Issue> {
  if (isIssue(source)) return source;
  const target = flagTarget(operation);
  const parsedBody = toParsedBody(source, target);
  if (isIssue(parsedBody)) return parsedBody;
  const [closedIssue] = parsedBody.editIssues;
  if (closedIssue) return closedIssue;
  const draft = await applyLineDefaults(createDraft(source, emptyBodyJson(target)), operation, defaults, tools);
  if (!settings) return draft;
  const autofillContext = { now: () => timestampMs, newId: (member: string) => uuidV5(run, `${line} ${member}`) };
  return setDraftFields(draft, target.path, fill(draft, settings, autofillContext));
}
