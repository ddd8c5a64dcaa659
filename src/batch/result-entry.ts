import { Buffer } from 'node:buffer';
import type { ExpectationResult } from '../client/expectations/chat-expectations.ts';
import type { Failure } from '../errors.ts';
import { compactChunks } from '../json/format-json.ts';
import { CARRIAGE_RETURN, LINE_FEED } from '../json/json-bytes.ts';
import { rootOf } from '../json/json-node.ts';
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

function formatEntryEnd({ attempts, milliseconds, expectations = [], warnings = [] }: LineAttempt): string {
  const expected =
    expectations.length > 0 ? `,"expectations":${writeJson(expectations.map((one) => ({ ...one })))}` : '';
  const warned = warnings.length > 0 ? `,"warnings":${writeJson(warnings)}` : '';
  return `${expected}${warned},"attempts":${attempts},"ms":${Math.round(milliseconds)}}\n`;
}

// In JSON, line breaks are only between values.
function toSingleLine(bytes: Buffer): Buffer {
  if (!bytes.includes(LINE_FEED) && !bytes.includes(CARRIAGE_RETURN)) return bytes;
  return Buffer.from(Array.from(compactChunks(rootOf(parseJson(bytes)))).join(''));
}

function formatResponse(bytes: Buffer): string {
  return tryParseJson(bytes) ? toSingleLine(bytes).toString() : writeJson(bytes.toString());
}
