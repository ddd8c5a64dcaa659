import type { AutofillSettings, createAutofill } from '../body/autofill.ts';
import { type BodyCheck, invalidBodyFailure } from '../body/body-check.ts';
import { createDraft, type Draft, orderAddedFields, setDraftFields } from '../body/draft.ts';
import type { BodyDependencies } from '../body/input-reader.ts';
import { isIssue } from '../body/json-source.ts';
import { emptyBodyJson, toParsedBody } from '../body/parsed-body.ts';
import type { Failure, Issue } from '../errors.ts';
import { uuidV5 } from '../fields/uuid.ts';
import type { InputLine } from '../files/split-lines.ts';
import { flagTarget, type Operation } from '../operations/operation.ts';
import type { TraceParent } from '../trace/trace-context.ts';
import type { CustomIdTracker } from './custom-id-tracker.ts';
import { type LineBody, readLineBody } from './line-body.ts';
import { applyLineDefaults, hasDefaults, type LineDefaults } from './line-defaults.ts';

/** The dependencies of building and checking the bodies of all lines. */
export interface LineChecks {
  readonly operation: Operation;
  readonly defaults: LineDefaults;
  /** Values for fields that svc fills in; undefined for `--exact`. */
  readonly autofill: AutofillSettings | undefined;
  /** The parent of calls that name neither trace nor parent. */
  readonly parent: TraceParent | undefined;
  readonly fill: ReturnType<typeof createAutofill>;
  /** The id of the run, a UUID. */
  readonly run: string;
  readonly tools: BodyDependencies;
  /** The name of the input in messages. */
  readonly label: string;
  readonly check: BodyCheck;
  readonly onWarning: (warning: Issue) => Promise<void>;
  readonly customIds: CustomIdTracker;
}

/** The source of the ids and times of a line: the same for every attempt, different for a changed line. */
export interface LineKey {
  /** Digest of the line. */
  readonly digest: string;
  /** Milliseconds since 1970. */
  readonly timestampMs: number;
}

/** The body of a line, or the Failure `body` if it may not be sent. */
export interface PreparedLine {
  readonly draft: Draft | Failure;
  /** JSON. */
  readonly customId: string | undefined;
}

/** Builds and checks the body of a line. */
export async function prepareLine(line: InputLine, key: LineKey, checks: LineChecks): Promise<PreparedLine> {
  const body = readLineBody(line, checks.label, checks.operation);
  const { customId, isIdInBody } = body;
  if (customId !== undefined) await checks.customIds.addLine(line.number, customId, isIdInBody);
  const draft = await createLineDraft(body, line.number, key, checks);
  if (isIssue(draft)) return { draft: invalidBodyFailure([draft]), customId };
  const { warnings, failure } = checks.check(draft, []);
  for (const warning of warnings) await checks.onWarning(warning);
  return { draft: failure ?? draft, customId };
}

// With defaults and the fields that svc adds. Ids are made from the run, the line and the field, so that a retried line is
// the same call.
async function createLineDraft(
  { source }: LineBody,
  line: number,
  { digest, timestampMs }: LineKey,
  { operation, defaults, autofill, parent, fill, run, tools }: LineChecks,
): Promise<Draft | Issue> {
  if (isIssue(source)) return source;
  const target = flagTarget(operation);
  const parsedBody = toParsedBody(source, target);
  if (isIssue(parsedBody)) return parsedBody;
  const [closedIssue] = parsedBody.editIssues;
  // Without flags to add, the check of the body decides.
  if (closedIssue && hasDefaults(defaults)) return closedIssue;
  const draft = await applyLineDefaults(createDraft(source, emptyBodyJson(target)), operation, defaults, tools);
  const newId = (member: string): string => uuidV5(run, `${line} ${digest} ${member}`);
  const trace = parent && { traceId: parent.traceId, parentId: parent.spanId, callId: spanIdOf(newId('span')) };
  // Written out, because a copy with one more member is slow (docs/performance.md).
  const filled = autofill
    ? setDraftFields(
        draft,
        target.path,
        fill(draft, { project: autofill.project, model: autofill.model, trace }, { now: () => timestampMs, newId }),
      )
    : draft;
  // Autofill alone adds fields in order.
  return draft.edits.length > 0 ? orderAddedFields(filled, target) : filled;
}

// An id in a trace of OpenTelemetry: 16 hexadecimal digits. Those of a UUIDv5 are never all zero.
function spanIdOf(uuid: string): string {
  return uuid.replaceAll('-', '').slice(0, 16);
}
