import { Buffer } from 'node:buffer';
import type { ParsedResponse } from '../client/read-response.ts';
import type { AppliedState, Failure } from '../errors.ts';
import { compactChunks } from '../json/format-json.ts';
import { JsonError } from '../json/json-error.ts';
import { firstStringMember, getMember, type JsonNode, kindOf, rawText, rootOf } from '../json/json-node.ts';
import { parseJson } from '../json/parse-json.ts';
import { writeJson } from '../json/write-json.ts';
import { failureFields } from '../output/failure-text.ts';

/** What became of a line, besides what was answered. */
export interface LineAttempt {
  readonly line: number;
  /** What the line is known by: its `custom_id`, or the id in its body. */
  readonly id: string | undefined;
  readonly attempts: number;
  readonly milliseconds: number;
}

/** What an entry says about its line. */
export interface ResultEntry {
  readonly line: number;
  readonly exitCode: number;
  readonly applied: AppliedState;
}

/** The entry of a line that was answered as it should be; the reply keeps every digit, on one line. */
export function formatSuccessEntry(
  outcome: LineAttempt,
  status: number,
  { bytes }: Pick<ParsedResponse, 'bytes'>,
): Buffer {
  const head = `{"line":${outcome.line},"id":${writeJson(outcome.id ?? null)},"status":${status},"exit_code":0,"applied":"yes","reply":`;
  return Buffer.concat([Buffer.from(head), toSingleLine(bytes), Buffer.from(formatEntryEnd(outcome))]);
}

/** The entry of a line that failed; an answer that broke the interface is kept in it, as text where it is no JSON. */
export function formatFailureEntry(
  outcome: LineAttempt,
  failure: Failure,
  redact: (text: string) => string,
  response?: Pick<ParsedResponse, 'bytes'>,
): Buffer {
  const { status = null, applied = 'no' } = failure.facts;
  const responseJson = response && response.bytes.length > 0 ? `"reply":${formatResponse(response.bytes)},` : '';
  const text = `{"line":${outcome.line},"id":${writeJson(outcome.id ?? null)},"status":${status},"exit_code":${failure.exitCode},"applied":"${applied}",${responseJson}"error":${writeJson(failureFields(failure, redact))}${formatEntryEnd(outcome)}`;
  return Buffer.from(text);
}

/** What an entry says; undefined for a line that is none. */
export function parseResultEntry(bytes: Uint8Array): ResultEntry | undefined {
  const root = tryParseJson(bytes);
  const [line, exitCode] = ['line', 'exit_code'].map((name) => integerMember(root, name));
  const applied = appliedValues.find((one) => one === firstStringMember(root, 'applied'));
  if (!line || exitCode === undefined || applied === undefined) return undefined;
  return { line, exitCode, applied };
}

const appliedValues: readonly AppliedState[] = ['no', 'yes', 'unknown'];

function formatEntryEnd({ attempts, milliseconds }: LineAttempt): string {
  return `,"attempts":${attempts},"ms":${Math.round(milliseconds)}}\n`;
}

// Line ends can only stand between the values of JSON, and only they would break the line.
function toSingleLine(bytes: Buffer): Buffer {
  if (!bytes.includes(0x0a) && !bytes.includes(0x0d)) return bytes;
  return Buffer.from(Array.from(compactChunks(rootOf(parseJson(bytes)))).join(''));
}

function formatResponse(bytes: Buffer): string {
  return tryParseJson(bytes) ? toSingleLine(bytes).toString() : writeJson(bytes.toString());
}

function tryParseJson(bytes: Uint8Array): JsonNode | undefined {
  try {
    return rootOf(parseJson(bytes));
  } catch (error) {
    if (error instanceof JsonError) return undefined;
    throw error;
  }
}

function integerMember(node: JsonNode | undefined, name: string): number | undefined {
  const value = getMember(node, name);
  return value && kindOf(value) === 'number' && /^\d{1,15}$/.test(rawText(value)) ? Number(rawText(value)) : undefined;
}
