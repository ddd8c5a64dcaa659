import { Buffer } from 'node:buffer';
import type { AutofillSettings, createAutofill } from '../body/autofill.ts';
import { type BodyCheck, invalidBodyFailure } from '../body/body-check.ts';
import { createDraft, type Draft, type Edit, orderAddedFields, originInDraft, setDraftFields } from '../body/draft.ts';
import { applyFlags, applyShorthands } from '../body/flag-edits.ts';
import type { BodyDependencies } from '../body/input-reader.ts';
import { emptyBodyJson, isIssue, type JsonSource, objectIssue } from '../body/json-source.ts';
import { type Failure, type Issue, usageFailure } from '../errors.ts';
import { uuidV5 } from '../fields/uuid.ts';
import type { InputLine } from '../files/split-lines.ts';
import type { FlagValues } from '../flag.ts';
import { applySplices } from '../json/edit.ts';
import { JsonError } from '../json/json-error.ts';
import {
  createNodeFinder,
  endOffset,
  firstStringMember,
  getMember,
  itemsAt,
  type JsonDocument,
  type JsonNode,
  kindOf,
  membersOf,
  nodeAtPath,
  rawBytes,
  rawText,
  rootOf,
  startOffset,
} from '../json/json-node.ts';
import { parseJson } from '../json/parse-json.ts';
import { createPositionLookup, formatPosition, positionAt } from '../json/utf8.ts';
import { flagTarget, type Operation, type Shorthand } from '../operations/operation.ts';
import type { TraceParent } from '../trace/trace-context.ts';
import type { CustomIdTracker } from './batch-summary.ts';
import type { SentLine } from './line-table.ts';

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
  readonly label: string;
  readonly check: BodyCheck;
  readonly onWarning: (warning: Issue) => Promise<void>;
  readonly customIds: CustomIdTracker;
}

/** The body of a line, or the Failure `body` if it may not be sent. */
interface PreparedLine {
  readonly draft: Draft | Failure;
  /** JSON. */
  readonly customId: string | undefined;
}

/**
 * Builds and checks the body of a line. Its ids and times come from `key`, the line's digest and the time of its first attempt:
 * the same for every attempt, different for a changed line.
 */
export async function prepareLine(line: InputLine, key: SentLine, checks: LineChecks): Promise<PreparedLine> {
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
  { digest, timestampMs }: SentLine,
  { operation, defaults, autofill, parent, fill, run, tools }: LineChecks,
): Promise<Draft | Issue> {
  if (isIssue(source)) return source;
  const target = flagTarget(operation);
  // Without flags to add, the check of the body decides about the object that they fill.
  const hasDefaults = defaults.fieldEdits.length + defaults.perLineFlags.size > 0;
  const issue = objectIssue(source) ?? (hasDefaults ? objectIssue(source, target) : undefined);
  if (issue) return issue;
  const draft = await applyLineDefaults(createDraft(source, emptyBodyJson(target)), operation, defaults, tools);
  const newId = (member: string): string => uuidV5(run, `${line} ${digest} ${member}`);
  // An id in a trace of OpenTelemetry: 16 hexadecimal digits. Those of a UUIDv5 are never all zero.
  const callId = parent && newId('span').replaceAll('-', '').slice(0, 16);
  const trace = parent && callId ? { traceId: parent.traceId, parentId: parent.spanId, callId } : undefined;
  // Written out, because a copy with one more property is slow (docs/performance.md).
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

/** The flags of a batch as defaults for fields that a line lacks. */
interface LineDefaults {
  /** Fields of the object that flags fill. */
  readonly fieldEdits: readonly Edit[];
  /** Flags whose effect depends on the line: messages before or after its own, a field copied from another. */
  readonly perLineFlags: FlagValues;
}

export const NO_DEFAULTS: LineDefaults = { fieldEdits: [], perLineFlags: new Map() };

/**
 * Reads the flags of a batch once. Throws usage for flags that belong to one body, and Failure `body` for values that
 * cannot be read.
 */
export async function readLineDefaults(
  operation: Operation,
  flags: FlagValues,
  dependencies: BodyDependencies,
): Promise<LineDefaults> {
  const target = flagTarget(operation);
  const shorthands = Object.entries(operation.shorthands ?? {});
  const isPerLine = (name: string): boolean =>
    shorthands.some(([one, { kind }]) => one === name && PER_LINE_KINDS.has(kind));
  for (const [name, { kind }] of shorthands) {
    if (flags.has(name) && SINGLE_BODY_KINDS.has(kind))
      throw usageFailure(
        `--${name} sets up one body and cannot be combined with --batch`,
        'put the messages into the lines',
      );
  }
  const sharedFlags = new Map([...flags].filter(([name]) => !isPerLine(name)));
  const empty = createDraft(undefined, emptyBodyJson(target));
  const { draft, issues } = await applyFlags(empty, operation, sharedFlags, dependencies);
  if (issues.length > 0) throw invalidBodyFailure(issues);
  return {
    fieldEdits: editsForFields(draft, target.path),
    perLineFlags: new Map([...flags].filter(([name]) => isPerLine(name))),
  };
}

// Existing fields stay.
async function applyLineDefaults(
  draft: Draft,
  operation: Operation,
  { fieldEdits, perLineFlags }: LineDefaults,
  dependencies: BodyDependencies,
): Promise<Draft> {
  const { path } = flagTarget(operation);
  const missingFields = fieldEdits.filter((edit) => !nodeAtPath(rootOf(draft.doc), edit.path));
  const filled = missingFields.length === 0 ? draft : setDraftFields(draft, path, missingFields);
  if (perLineFlags.size === 0) return filled;
  const body = rootOf(filled.doc);
  const shorthands = operation.shorthands ?? {};
  const applicableFlags = new Map(
    [...perLineFlags].filter(([name]) => isOmitted(shorthands[name], nodeAtPath(body, path))),
  );
  return (await applyShorthands(filled, operation, applicableFlags, dependencies)).draft;
}

const PER_LINE_KINDS: ReadonlySet<Shorthand['kind']> = new Set(['message', 'prefill', 'copy']);
const SINGLE_BODY_KINDS: ReadonlySet<Shorthand['kind']> = new Set(['attach', 'role-message', 'conversation']);

function editsForFields(draft: Draft, path: Edit['path']): Edit[] {
  const object = nodeAtPath(rootOf(draft.doc), path);
  return Array.from(object ? membersOf(object) : [], ({ key, value }) => {
    const fieldPath = [...path, key];
    return { path: fieldPath, text: Buffer.from(rawBytes(value)), origin: originInDraft(draft, fieldPath) };
  });
}

function isOmitted(shorthand: Shorthand | undefined, object: JsonNode | undefined): boolean {
  const messages = itemsAt(object, 'messages');
  switch (shorthand?.kind) {
    case 'message':
      return firstStringMember(messages[0], 'role') !== shorthand.role;
    case 'prefill':
      return firstStringMember(messages.at(-1), 'role') !== 'assistant';
    case 'copy':
      return !getMember(object, shorthand.to);
    default:
      return false;
  }
}

interface LineBody {
  readonly source: JsonSource | Issue;
  /** The `custom_id` of the line as JSON: a string, or a number as typed. */
  readonly customId: string | undefined;
  /** The `custom_id` was a field of the body, and is removed from it. */
  readonly isIdInBody: boolean;
}

/**
 * Reads a line of a batch: a body, or a body inside `{"custom_id","method","url","body"}`, as in OpenAI's batches. Errors
 * name the line and column in the file.
 */
function readLineBody(line: InputLine, label: string, operation: Operation): LineBody {
  const { number, bytes, problem, isRow } = line;
  const issueAt = (message: string, column?: number, customId?: string): LineBody => {
    const isKnown = column !== undefined || isRow;
    const at = isKnown
      ? formatPosition(label, { line: number, column: isRow ? 0 : (column ?? 0) })
      : `${label}:${number}`;
    return { source: { path: '', at, message }, customId, isIdInBody: false };
  };
  if (!bytes) return issueAt(problem ?? 'the line exceeds the size limit of a body');
  try {
    const doc = parseJson(bytes);
    const root = rootOf(doc);
    const body = getMember(root, 'body');
    if (!body || !(getMember(root, 'custom_id') || getMember(root, 'url'))) return readPlainBody(doc, label, line);
    const customId = customIdJson(getMember(root, 'custom_id'));
    const columnOf = (node: JsonNode): number => createPositionLookup(doc.bytes)(startOffset(node)).column;
    const envelopeError = findEnvelopeError(root, operation);
    if (envelopeError) return issueAt(envelopeError.message, columnOf(envelopeError.node), customId);
    const bodyDoc = parseJson(Buffer.from(rawBytes(body)));
    return { source: createLineSource(bodyDoc, label, line, columnOf(body) - 1), customId, isIdInBody: false };
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    return issueAt(`invalid JSON: ${error.message}`, positionAt(bytes, error.offset).column);
  }
}

// Only `custom_id`, which no operation has as a field, is removed; every other byte stays.
function readPlainBody(doc: JsonDocument, label: string, line: InputLine): LineBody {
  const root = rootOf(doc);
  const members = getMember(root, 'custom_id') ? Array.from(membersOf(root)) : [];
  const at = members.findIndex(({ key }) => key === 'custom_id');
  const member = members[at];
  const customId = customIdJson(member?.value);
  if (!member || customId === undefined)
    return { source: createLineSource(doc, label, line, 0), customId: undefined, isIdInBody: false };
  const [previous, next] = [members[at - 1], members[at + 1]];
  const start = previous && !next ? endOffset(previous.value) : startOffset(member.keyNode);
  const end = next ? startOffset(next.keyNode) : endOffset(member.value);
  const body = parseJson(applySplices(doc.bytes, [{ start, end, text: '' }]));
  const position = createPositionLookup(doc.bytes);
  const toOriginal = (offset: number): number => (offset < start ? offset : offset + end - start);
  const source: JsonSource = {
    ...createLineSource(body, label, line, 0),
    position: (offset) => ({ line: line.number, column: position(toOriginal(offset)).column }),
  };
  return { source, customId, isIdInBody: true };
}

function customIdJson(node: JsonNode | undefined): string | undefined {
  return node && (kindOf(node) === 'string' || kindOf(node) === 'number') ? rawText(node) : undefined;
}

function findEnvelopeError(root: JsonNode, { path }: Operation): { node: JsonNode; message: string } | undefined {
  const url = getMember(root, 'url');
  const method = getMember(root, 'method');
  if (method && firstStringMember(root, 'method') !== 'POST')
    return { node: method, message: 'the method must be "POST"' };
  if (url && firstStringMember(root, 'url') !== path) return { node: url, message: `the url must be "${path}"` };
  const body = getMember(root, 'body');
  return body && kindOf(body) !== 'object' ? { node: body, message: 'the body must be an object' } : undefined;
}

function createLineSource(
  doc: JsonDocument,
  label: string,
  { number, isRow }: InputLine,
  columnOffset: number,
): JsonSource {
  const position = createPositionLookup(doc.bytes);
  return {
    label,
    doc,
    find: createNodeFinder(doc),
    position: (offset) => ({ line: number, column: isRow ? 0 : position(offset).column + columnOffset }),
  };
}
