import { Buffer } from 'node:buffer';
import { hash } from 'node:crypto';
import { createAutofill } from '../../body/autofill.ts';
import { type BodyCheck, createBodyCheck, invalidBodyFailure } from '../../body/body-check.ts';
import type { BodyFlags } from '../../body/body-flags.ts';
import {
  createDraft,
  type Draft,
  type Edit,
  orderAddedFields,
  originInDraft,
  setDraftFields,
} from '../../body/draft.ts';
import { applyFlags, applyShorthands } from '../../body/flag-edits.ts';
import type { BodyInputs } from '../../body/input-reader.ts';
import { emptyBodyJson, isIssue, type JsonSource, placeInSource, requireObject } from '../../body/json-source.ts';
import type { Settings } from '../../client/resolve-settings.ts';
import type { Context } from '../../context.ts';
import { type Failure, type Issue, usageFailure } from '../../errors.ts';
import { uuidV5, uuidV7 } from '../../fields/uuid.ts';
import type { InputLine } from '../../files/split-lines.ts';
import type { FlagValue } from '../../flag.ts';
import { applySplices } from '../../json/edit.ts';
import { JsonError, resemblance } from '../../json/json-error.ts';
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
} from '../../json/json-node.ts';
import { parseJson } from '../../json/parse-json.ts';
import { createPositionLookup, positionAt } from '../../json/utf8.ts';
import { promptColumn } from '../../operations/foreign-chat-fields.ts';
import { flagTarget, type Operation, type Shorthand } from '../../operations/operation.ts';
import type { Reporter } from '../../output/reporter.ts';
import { shellWord } from '../../output/shell-quote.ts';
import type { TraceParent } from '../../trace/trace-context.ts';
import { isTableName } from '../read/table-records.ts';
import type { SentLine } from '../store/line-table.ts';
import { type BatchWarnings, createBatchWarnings } from './batch-warnings.ts';

export interface LineChecks {
  readonly settings: Settings;
  readonly defaults: LineDefaults;
  /** The parent of calls that name neither trace nor parent. */
  readonly parent: TraceParent | undefined;
  /** Fills in fields; undefined for `--exact`. */
  readonly fill: ReturnType<typeof createAutofill> | undefined;
  readonly run: string;
  readonly tools: BodyInputs;
  readonly label: string;
  readonly check: BodyCheck;
  readonly warnings: BatchWarnings;
  /** Where warnings and notes about lines go; undefined if the results of the lines are all that is reported. */
  readonly report: Pick<Reporter, 'warn' | 'note'> | undefined;
}

/** The checks of all lines of a batch, with the id of the run. */
export async function createLineChecks(
  settings: Settings,
  given: Pick<LineChecks, 'label' | 'defaults' | 'tools' | 'parent' | 'report'>,
  { runtime }: Context,
): Promise<LineChecks> {
  const { operation, isExact } = settings;
  return {
    ...given,
    settings,
    fill: isExact ? undefined : createAutofill(flagTarget(operation)),
    run: uuidV7(runtime.now(), runtime.randomBytes(10)),
    check: await createBodyCheck(operation, { ...settings, origin: 'batch' }),
    warnings: createBatchWarnings(given.label, given.report),
  };
}

/**
 * Builds and checks the body of a line; a Failure `body` may not be sent. `customId` is JSON. Ids and times come from `key`,
 * the line's digest and the time of its first attempt: the same for every attempt, different for a changed line.
 */
export async function prepareLine(
  line: InputLine,
  key: SentLine,
  checks: LineChecks,
): Promise<{ readonly draft: Draft | Failure; readonly customId: string | undefined }> {
  const { label, settings, warnings: batchWarnings } = checks;
  const source = readLine(line, label);
  if (isIssue(source)) {
    const { note = '', hint } = otherKind(source, line, label, settings.operation) ?? {};
    return {
      draft: invalidBodyFailure([{ ...source, message: source.message + note }], 0, hint),
      customId: undefined,
    };
  }
  const root = rootOf(source.doc);
  const id = getMember(root, 'custom_id');
  const customId = id && (kindOf(id) === 'string' || kindOf(id) === 'number') ? rawText(id) : undefined;
  const inner = id || getMember(root, 'url') ? getMember(root, 'body') : undefined;
  if (customId !== undefined) batchWarnings.addCustomId(line.number, customId);
  const body = requireObject(inner ? openEnvelope(source, inner, line, settings.operation) : source);
  if (isIssue(body)) {
    const isText = kindOf(root) === 'string' && settings.operation.arguments?.as === 'prompt';
    return { draft: invalidBodyFailure([body], 0, isText ? textHint('-c', label) : undefined), customId };
  }
  const hasCustomId = customId !== undefined && !inner;
  const draft = await createLineDraft(body, hasCustomId, line.number, key, checks);
  const { warnings, failure } = checks.check(draft);
  for (const warning of warnings) await batchWarnings.addBodyWarning(warning);
  return { draft: failure ?? draft, customId };
}

// With defaults and the fields that svc adds. Ids are made from the run, the line and the field.
async function createLineDraft(
  source: JsonSource,
  hasCustomId: boolean,
  line: number,
  { digest, timestampMs }: SentLine,
  { settings, defaults, parent, fill, run, tools }: LineChecks,
): Promise<Draft> {
  const { operation } = settings;
  const target = flagTarget(operation);
  const body = createDraft(source);
  const seed = `${run} ${line} ${digest}`;
  // An id of a flag is made from the time and the line, too.
  const lineInputs = {
    ...tools,
    now: () => timestampMs,
    randomBytes: (size: number) => hash('sha256', seed, 'buffer').subarray(0, size),
  };
  const draft = await applyLineDefaults(hasCustomId ? withoutCustomId(body) : body, settings, defaults, lineInputs);
  const newId = (member: string): string => uuidV5(run, `${line} ${digest} ${member}`);
  // An id in a trace of OpenTelemetry: 16 hexadecimal digits. Those of a UUIDv5 are never all zero.
  const newCallId = (): string => newId('span').replaceAll('-', '').slice(0, 16);
  const trace = parent && { traceId: parent.traceId, parentId: parent.spanId, callId: newCallId() };
  const { project, model } = settings.defaults;
  const added = fill?.(draft, { project, model, trace }, { now: () => timestampMs, newId }) ?? [];
  const filled = setDraftFields(draft, target, added);
  // Autofill alone adds fields in order.
  return draft.edits.length > 0 ? orderAddedFields(filled, target) : filled;
}

/** The flags of a batch as defaults for fields that a line lacks. */
interface LineDefaults {
  readonly fieldEdits: readonly Edit[];
  /** Flags whose effect depends on the line: messages before or after its own, a field copied from another. */
  readonly perLineFlags: BodyFlags;
}

export const NO_DEFAULTS: LineDefaults = { fieldEdits: [], perLineFlags: new Map() };

/** Throws usage for flags that belong to one body, and Failure `body` for values that cannot be read. */
export async function readLineDefaults(
  operation: Operation,
  given: BodyFlags,
  inputs: BodyInputs,
): Promise<LineDefaults> {
  const target = flagTarget(operation);
  const sharedFlags = new Map(given);
  const perLineFlags = new Map<string, FlagValue>();
  for (const [name, value] of given) {
    const kind = operation.shorthands?.[name]?.kind;
    if (kind && SINGLE_BODY_KINDS.has(kind))
      throw usageFailure(
        `--${name} sets up one body and cannot be combined with --batch`,
        'put the messages into the lines',
      );
    if (!kind || !PER_LINE_KINDS.has(kind)) continue;
    sharedFlags.delete(name);
    perLineFlags.set(name, value);
  }
  const draft = await applyFlags(createDraft(emptyBodyJson(target)), { operation, given: sharedFlags, inputs });
  if (draft.issues.length > 0) throw invalidBodyFailure(draft.issues);
  const object = nodeAtPath(rootOf(draft.doc), target.path);
  const fieldEdits = Array.from(object ? membersOf(object) : [], ({ key, value }) => {
    const path = [...target.path, key];
    return { path, text: Buffer.from(rawBytes(value)), origin: originInDraft(draft, path) };
  });
  return { fieldEdits, perLineFlags };
}

async function applyLineDefaults(
  draft: Draft,
  { operation, isExact, defaults: { project } }: Settings,
  { fieldEdits, perLineFlags }: LineDefaults,
  inputs: BodyInputs,
): Promise<Draft> {
  const target = flagTarget(operation);
  const missingFields = fieldEdits.filter((edit) => !nodeAtPath(rootOf(draft.doc), edit.path));
  const filled = setDraftFields(draft, target, missingFields);
  if (perLineFlags.size === 0) return filled;
  const body = rootOf(filled.doc);
  const shorthands = operation.shorthands ?? {};
  const applicableFlags = new Map(
    [...perLineFlags].filter(([name]) => isOmitted(shorthands[name], nodeAtPath(body, target.path))),
  );
  const line = { operation, given: applicableFlags, inputs, project: isExact ? undefined : project.text };
  return applyShorthands(filled, line);
}

const PER_LINE_KINDS: ReadonlySet<Shorthand['kind']> = new Set(['message', 'prefill', 'copy', 'new-id', 'call-ref']);
const SINGLE_BODY_KINDS: ReadonlySet<Shorthand['kind']> = new Set(['attach', 'role-message', 'conversation']);

function isOmitted(shorthand: Shorthand | undefined, object: JsonNode | undefined): boolean {
  const messages = itemsAt(object, 'messages');
  switch (shorthand?.kind) {
    case 'message':
      return firstStringMember(messages[0], 'role') !== shorthand.role;
    case 'prefill':
      return firstStringMember(messages.at(-1), 'role') !== 'assistant';
    case 'copy':
    case 'new-id':
    case 'call-ref':
      return !shorthand.sets.some((field) => getMember(object, field));
    default:
      return false;
  }
}

function readLine(line: InputLine, label: string): JsonSource | Issue {
  const { number, bytes, problem = 'the line exceeds the size limit of a body', resembles, isRow } = line;
  const at = { label, line: number, ...(isRow ? { column: 0 } : {}) };
  if (!bytes) return { path: '', at, message: problem, resembles };
  try {
    return createLineSource(parseJson(bytes), label, line);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    const { column } = positionAt(bytes, error.offset);
    const kind = resemblance(error.unexpected, { column });
    // otherKind says what to do with a first line that is the start of a body.
    const problem = kind === 'start' && number === 1 ? error.problem : error.message;
    return { path: '', at: { column, ...at }, message: `invalid JSON: ${problem}`, resembles: kind };
  }
}

const TABLE_HEADER = /^\ufeff?"?[a-z_][\w -]*"?(?:([,;\t|])"?[a-z_][\w -]*"?)+\s*$/i;

// A first line that is invalid often means a file of another kind: a note on it, and the next step if no line is valid.
function otherKind(
  { message, resembles }: Issue,
  { number, bytes, isRow }: InputLine,
  label: string,
  operation: Operation,
) {
  const file = label === 'stdin' ? '-' : shellWord(label);
  if (number !== 1) return undefined;
  const whole = resembles === 'start' && {
    note: '; a line must hold a whole body, as jq -c writes it',
    hint: `write one body per line: jq -c . ${file === '-' ? '' : `${file} `}> lines.jsonl`,
  };
  if (isRow && message.startsWith('invalid JSON') && !isTableName(label))
    return {
      hint: whole
        ? whole.hint.replace('body', 'row')
        : `lines of text need a name in .txt: ${file === '-' ? 'cat > lines.txt' : `cp ${file} ${shellWord(`${label}.txt`)}`}; for a table, add --delimiter <text>`,
    };
  if (isRow || !bytes) return undefined;
  const text = Buffer.from(bytes.subarray(0, 1024)).toString();
  const [, separator = ''] = (!isTableName(label) && TABLE_HEADER.exec(text)) || [];
  const delimiter = separator && ` --delimiter ${separator === '\t' ? 'tab' : `'${separator}'`}`;
  const isChat = operation.arguments?.as === 'prompt';
  const rowsHint = (column: string) =>
    isChat
      ? `write: svc chat --rows ${file}${delimiter} "{{${column}}}" -o <new file>`
      : `send the rows with --rows ${file}${delimiter}, and flags that name its columns, such as --set <path>={{${column}}}`;
  if (isTableName(label) || delimiter) {
    const names = text.match(/[^",;|\t\r\ufeff]+/g) ?? [];
    return { note: '; to send the rows of a table, use --rows', hint: rowsHint(promptColumn(names)) };
  }
  if (/\.txt$/i.test(label))
    return { note: '; to send lines of text, use --rows with {{line}}', hint: rowsHint('line') };
  if (/\r(?!$)/.test(text))
    return {
      note: '; its lines end in carriage returns',
      hint: file === '-' ? `pipe it through: tr '\\r' '\\n'` : `write: tr '\\r' '\\n' < ${file} > lines.jsonl`,
    };
  if (whole) return whole;
  return /^\s*[[{"]/.test(text)
    ? undefined
    : { note: '; a line must be a JSON object', hint: isChat ? textHint('-Rc', label) : undefined };
}

// Lines of text, or of JSON strings, as bodies of a chat.
function textHint(flags: '-Rc' | '-c', label: string): string {
  const file = label === 'stdin' ? '' : `${shellWord(label)} `;
  return `write bodies: jq ${flags} '{messages:[{role:"user",content:.}]}' ${file}> bodies.jsonl`;
}

function createLineSource(
  doc: JsonDocument,
  label: string,
  { number, isRow }: InputLine,
  columnOffset = 0,
): JsonSource {
  const position = createPositionLookup(doc.bytes);
  return {
    label,
    doc,
    find: createNodeFinder(doc),
    position: (offset) => ({ line: number, column: isRow ? 0 : position(offset).column + columnOffset }),
  };
}

// The body inside of `{"custom_id","method","url","body"}`, a line of OpenAI's batches.
function openEnvelope(source: JsonSource, body: JsonNode, line: InputLine, { path }: Operation): JsonSource | Issue {
  const root = rootOf(source.doc);
  const [url, method] = [getMember(root, 'url'), getMember(root, 'method')];
  const issueAt = (node: JsonNode, message: string): Issue => ({
    path: '',
    at: placeInSource(source, node),
    message,
  });
  if (method && firstStringMember(root, 'method') !== 'POST') return issueAt(method, 'the method must be "POST"');
  if (url && firstStringMember(root, 'url') !== path) return issueAt(url, `the url must be "${path}"`);
  if (kindOf(body) !== 'object') return issueAt(body, 'the body must be an object');
  const { column } = source.position(startOffset(body));
  return createLineSource(parseJson(Buffer.from(rawBytes(body))), source.label, line, column - 1);
}

// Only `custom_id`, which no operation has as a field, is removed; every other byte stays.
function withoutCustomId(body: Draft): Draft {
  const members = Array.from(membersOf(rootOf(body.doc)));
  const at = members.findIndex(({ key }) => key === 'custom_id');
  const [previous, member, next] = [members[at - 1], members[at], members[at + 1]];
  if (!member) return body;
  const start = previous && !next ? endOffset(previous.value) : startOffset(member.keyNode);
  const end = next ? startOffset(next.keyNode) : endOffset(member.value);
  return { ...body, doc: parseJson(applySplices(body.doc.bytes, [{ start, end, text: '' }])) };
}
