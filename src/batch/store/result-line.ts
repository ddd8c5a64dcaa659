import { Buffer } from 'node:buffer';
import { hash } from 'node:crypto';
import type { AppliedState, Failure } from '../../errors.ts';
import type { InputLine } from '../../files/split-lines.ts';
import { BACKSLASH, CARRIAGE_RETURN, LINE_FEED, QUOTE, SPACE, TAB } from '../../json/json-bytes.ts';
import { firstStringMember, getMember, type JsonNode, rawText } from '../../json/json-node.ts';
import { tryParseJson } from '../../json/parse-json.ts';
import { hasByteOrderMark } from '../../json/utf8.ts';
import { writeJson } from '../../json/write-json.ts';
import { factsFor } from '../../operations/received-facts.ts';
import { failureFields, mapTexts } from '../../output/failure-text.ts';
import type { LineResult, LineState } from '../../reports/batch/line-facts.ts';
import { appliedStates, MAX_LINE_NUMBER } from './line-table.ts';

/** What ties a result to its input line and its batch: the `checkpoint` of a result line. */
export interface Checkpoint {
  readonly input: string;
  readonly run: string;
  readonly operation: string;
  /** `3/10`. */
  readonly shard: string;
  /** The digest of the row that the line was made from, for a join with its table. */
  readonly row?: string | undefined;
}

/** What names a line in its result. */
export interface LineKey {
  readonly line: number;
  readonly checkpoint: Checkpoint;
  /** The `custom_id` of the line, or the id in its body, as JSON. */
  readonly id?: string | undefined;
  /** How often an earlier result of the line was taken back: a result of a higher revision replaces it. */
  readonly revision: number;
}

/** The digest of an input line, in 16 hex digits; a carriage return at its end does not count. */
export function digestInputLine({ bytes, length }: Pick<InputLine, 'bytes' | 'length'>): string {
  const text = bytes?.at(-1) === CARRIAGE_RETURN ? bytes.subarray(0, -1) : bytes;
  return hash('sha256', text ?? `a line of ${length} bytes`, 'hex').slice(0, 16);
}

const MAX_STORED_ERROR_CHARS = 8 * 1024;

/** The result line. The response keeps every digit, on one line; one that is not JSON is kept as text. */
export function formatResult(
  { line, checkpoint, id = 'null', revision }: LineKey,
  { failure, httpStatus, received, expectations, warnings, attempts, milliseconds, endedAtMs, heldBy }: LineResult,
  response: Buffer | undefined,
  redact: (text: string) => string = String,
): Buffer {
  const facts = writeJson(mapTexts(factsFor('result', received), redact)).slice(1, -1);
  const { status = null, applied = 'no' } = failure ? failure.facts : ({ status: httpStatus, applied: 'yes' } as const);
  const head = `{"line":${line},"id":${id},"status":${status},"exit_code":${failure?.exitCode ?? 0},"applied":"${applied}"`;
  const middle = [
    ...(facts === '' ? [] : [`,${facts}`]),
    ...(failure ? [`,"error":${writeJson(failureFields(failure, redact, MAX_STORED_ERROR_CHARS))}`] : []),
    ...(expectations.length > 0 ? [`,"expectations":${writeJson(expectations)}`] : []),
    ...(warnings.length > 0 ? [`,"warnings":${writeJson(warnings)}`] : []),
    `,"attempts":${attempts},"ms":${milliseconds}`,
    ...(endedAtMs === undefined ? [] : [`,"ended_at":"${new Date(endedAtMs).toISOString()}"`]),
    ...(endedAtMs === undefined || heldBy === undefined ? [] : [`,"held_by":"${heldBy}"`]),
  ].join('');
  const { input, run, operation, shard, row } = checkpoint;
  const end = `${middle},"checkpoint":${writeJson({ input, run, operation, shard, row })}}\n`;
  const start = revision === 0 ? head : `${head},"revision":${revision}`;
  if (!response?.length) return Buffer.from(start + end);
  const json =
    failure && !tryParseJson(response) ? Buffer.from(writeJson(response.toString())) : toSingleLine(response);
  return Buffer.concat([Buffer.from(`${start},"response":`), json, Buffer.from(end)]);
}

// Without a byte order mark, and without the whitespace between values, if it has line breaks. A copy as text would take twice
// the memory.
function toSingleLine(response: Buffer): Buffer {
  const bytes = hasByteOrderMark(response) ? response.subarray(3) : response;
  if (!bytes.includes(LINE_FEED) && !bytes.includes(CARRIAGE_RETURN)) return bytes;
  const line = Buffer.allocUnsafe(bytes.length);
  let length = 0;
  let isInString = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) isInString = !isInString;
    const isWhitespace = byte === SPACE || byte === TAB || byte === LINE_FEED || byte === CARRIAGE_RETURN;
    if (isInString || !isWhitespace) line[length++] = byte;
    if (isInString && byte === BACKSLASH) line[length++] = bytes[++at] ?? 0;
  }
  return line.subarray(0, length);
}

export type ResultEntry = NonNullable<ReturnType<typeof parseResultLine>>;

/** Reads a result line, also one that was reformatted; undefined for any other line. Results of earlier versions lack a checkpoint. */
export function parseResultLine(bytes: Buffer) {
  const root = tryParseJson(bytes);
  const [line, exitCode, revision = 0] = ['line', 'exit_code', 'revision'].map((name) => integerMember(root, name));
  const applied = appliedStates.find((one) => one === firstStringMember(root, 'applied'));
  if (!line || line > MAX_LINE_NUMBER || exitCode === undefined || applied === undefined) return undefined;
  const checkpoint = getMember(root, 'checkpoint');
  const [input = '', run = '', operation = '', shard = ''] = ['input', 'run', 'operation', 'shard'].map((name) =>
    firstStringMember(checkpoint, name),
  );
  const isComplete = /^[0-9a-f]{16}$/.test(input) && run && operation && /^\d+\/\d+$/.test(shard);
  const found: Checkpoint | undefined = isComplete ? { input, run, operation, shard } : undefined;
  return { line, exitCode, applied, revision, checkpoint: found };
}

function integerMember(node: JsonNode | undefined, name: string): number | undefined {
  const value = getMember(node, name);
  return value && /^\d{1,15}$/.test(rawText(value)) ? Number(rawText(value)) : undefined;
}

/** The next step where nothing but applied lines failed, as by an expectation. */
export const FAILED_APPLIED_HINT =
  'the failed lines were applied; to send them again, remove their results from the output; then --resume --retry-unknown';

export function classifyLine(exitCode: number, applied: AppliedState = 'no'): LineState {
  if (exitCode === 0) return { status: 'done', isUnresolved: false };
  return { status: applied === 'unknown' ? 'unknown' : 'failed', isUnresolved: applied !== 'no' };
}

/** The Failure of a filter on a result line, with its line number; with its outcome too, if this command sent the line. */
export function filterFailure(failure: Failure, resultLine: string, isSent: boolean): Failure {
  const bytes = Buffer.from(resultLine);
  const { line, applied } = parseResultLine(bytes) ?? {};
  const outcome = isSent ? { applied, attempts: integerMember(tryParseJson(bytes), 'attempts') } : {};
  return failure.with(outcome, `${failure.message} (line ${line})`);
}
