import { Buffer } from 'node:buffer';
import type { ExpectationResult } from '../client/expectations/chat-expectations.ts';
import type { AppliedState, Failure } from '../errors.ts';
import { compactChunks } from '../json/format-json.ts';
import { firstStringMember, getMember, type JsonNode, kindOf, rawText, rootOf } from '../json/json-node.ts';
import { parseJson, tryParseJson } from '../json/parse-json.ts';
import { writeJson } from '../json/write-json.ts';
import { failureFields } from '../output/failure-text.ts';
import type { ParsedResponse } from '../results/show-response.ts';

/** The facts of a result besides the response. */
export interface LineAttempt {
  readonly line: number;
  /** The `custom_id` of the line, or the id in its body, as JSON. */
  readonly id: string | undefined;
  readonly attempts: number;
  readonly milliseconds: number;
  /** Empty without expectations. */
  readonly expectations?: readonly ExpectationResult[];
  /** Signs that the response is for another request. */
  readonly warnings?: readonly string[];
}

/** The outcome of a line in a result line. */
export interface ResultEntry {
  readonly line: number;
  readonly exitCode: number;
  readonly applied: AppliedState;
}

/** The result line of a success; the response keeps every digit, on one line. */
export function formatSuccessEntry(
  outcome: LineAttempt,
  status: number,
  { bytes }: Pick<ParsedResponse, 'bytes'>,
): Buffer {
  const head = `{"line":${outcome.line},"id":${outcome.id ?? null},"status":${status},"exit_code":0,"applied":"yes","reply":`;
  return Buffer.concat([Buffer.from(head), toSingleLine(bytes), Buffer.from(formatEntryEnd(outcome))]);
}

/** The result line of a failure; a response that breaks the interface is kept in it, as text if it is not JSON. */
export function formatFailureEntry(
  outcome: LineAttempt,
  failure: Failure,
  redact: (text: string) => string,
  response?: Pick<ParsedResponse, 'bytes'>,
): Buffer {
  const { status = null, applied = 'no' } = failure.facts;
  const responseJson = response && response.bytes.length > 0 ? `"reply":${formatResponse(response.bytes)},` : '';
  const text = `{"line":${outcome.line},"id":${outcome.id ?? null},"status":${status},"exit_code":${failure.exitCode},"applied":"${applied}",${responseJson}"error":${writeJson(failureFields(failure, redact))}${formatEntryEnd(outcome)}`;
  return Buffer.from(text);
}

/** Reads a result line; undefined for any other line. */
export function parseResultEntry(bytes: Uint8Array): ResultEntry | undefined {
  const root = tryParseJson(bytes);
  const [line, exitCode] = ['line', 'exit_code'].map((name) => integerMember(root, name));
  const applied = appliedValues.find((one) => one === firstStringMember(root, 'applied'));
  if (!line || exitCode === undefined || applied === undefined) return undefined;
  return { line, exitCode, applied };
}

const appliedValues: readonly AppliedState[] = ['no', 'yes', 'unknown'];

function formatEntryEnd({ attempts, milliseconds, expectations = [], warnings = [] }: LineAttempt): string {
  const expected =
    expectations.length > 0 ? `,"expectations":${writeJson(expectations.map((one) => ({ ...one })))}` : '';
  const warned = warnings.length > 0 ? `,"warnings":${writeJson(warnings)}` : '';
  return `${expected}${warned},"attempts":${attempts},"ms":${Math.round(milliseconds)}}\n`;
}

// In JSON, line breaks are only between values.
function toSingleLine(bytes: Buffer): Buffer {
  if (!bytes.includes(0x0a) && !bytes.includes(0x0d)) return bytes;
  return Buffer.from(Array.from(compactChunks(rootOf(parseJson(bytes)))).join(''));
}

function formatResponse(bytes: Buffer): string {
  return tryParseJson(bytes) ? toSingleLine(bytes).toString() : writeJson(bytes.toString());
}

function integerMember(node: JsonNode | undefined, name: string): number | undefined {
  const value = getMember(node, name);
  return value && kindOf(value) === 'number' && /^\d{1,15}$/.test(rawText(value)) ? Number(rawText(value)) : undefined;
}
