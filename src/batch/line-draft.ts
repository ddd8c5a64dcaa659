import type { AutofillSettings, createAutofill } from '../body/autofill.ts';
import { createDraft, type Draft, setDraftFields } from '../body/draft.ts';
import type { BodyDependencies } from '../body/input-reader.ts';
import { isIssue } from '../body/json-source.ts';
import { emptyBodyJson, toParsedBody } from '../body/parsed-body.ts';
import type { Issue } from '../errors.ts';
import { uuidV5 } from '../fields/uuid.ts';
import { flagTarget, type Operation } from '../operations/operation.ts';
import type { LineBody } from './line-body.ts';
import { applyLineDefaults, type LineDefaults } from './line-defaults.ts';

/** What the bodies of all lines have in common. */
export interface LineDraftOptions {
  readonly operation: Operation;
  readonly defaults: LineDefaults;
  /** Values for fields that svc fills in; undefined for `--exact`. */
  readonly settings: AutofillSettings | undefined;
  readonly fill: ReturnType<typeof createAutofill>;
  /** The id of the run, a UUID. */
  readonly run: string;
  readonly tools: BodyDependencies;
}

/** What makes the ids and times of a line: the same for every attempt, and others for a line that changed. */
export interface LineKey {
  readonly line: number;
  /** Digest of the line. */
  readonly digest: string;
  /** Milliseconds since 1970. */
  readonly timestampMs: number;
}

/**
 * The body of a line, with defaults and the fields that svc adds, or why the line has no valid body. Ids are made from the
 * run, the line and the field, so that a retried line is the same call.
 */
export async function createLineDraft(
  { source }: LineBody,
  { line, digest, timestampMs }: LineKey,
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
  const autofillContext = {
    now: () => timestampMs,
    newId: (member: string) => uuidV5(run, `${line} ${digest} ${member}`),
  };
  return setDraftFields(draft, target.path, fill(draft, settings, autofillContext));
}
