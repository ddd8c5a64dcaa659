import { Buffer } from 'node:buffer';
import type { Answer } from '../call/answer.ts';
import type { Applied, Failure } from '../errors.ts';
import { parseJson } from '../json/document.ts';
import { JsonError } from '../json/json-error.ts';
import { compactPieces } from '../json/layout.ts';
import { type JsonNode, kindOf, member, rootOf, stringIn, textOf } from '../json/node.ts';
import { writeJson } from '../json/write.ts';
import { failureMembers } from '../output/failure.ts';

/** What became of a line, besides what was answered. */
export interface Outcome {
  readonly line: number;
  /** What the line is known by: its `custom_id`, or the id in its body. */
  readonly id: string | undefined;
  readonly attempts: number;
  readonly milliseconds: number;
}

/** What an entry says about its line. */
export interface Entry {
  readonly line: number;
  readonly exitCode: number;
  readonly applied: Applied;
}

/** The entry of a line that was answered as it should be; the reply keeps every digit, on one line. */
export function answeredEntry(outcome: Outcome, status: number, { bytes }: Pick<Answer, 'bytes'>): Buffer {
  const head = `{"line":${outcome.line},"id":${writeJson(outcome.id ?? null)},"status":${status},"exit_code":0,"applied":"yes","reply":`;
  return Buffer.concat([Buffer.from(head), onOneLine(bytes), Buffer.from(tail(outcome))]);
}

/** The entry of a line that failed; an answer that broke the interface is kept in it, as text where it is no JSON. */
export function failedEntry(
  outcome: Outcome,
  failure: Failure,
  clean: (text: string) => string,
  answer?: Pick<Answer, 'bytes'>,
): Buffer {
  const { status = null, applied = 'no' } = failure.facts;
  const reply = answer && answer.bytes.length > 0 ? `"reply":${replyText(answer.bytes)},` : '';
  const text = `{"line":${outcome.line},"id":${writeJson(outcome.id ?? null)},"status":${status},"exit_code":${failure.exitCode},"applied":"${applied}",${reply}"error":${writeJson(failureMembers(failure, clean))}${tail(outcome)}`;
  return Buffer.from(text);
}

/** What an entry says; undefined for a line that is none. */
export function readEntry(bytes: Uint8Array): Entry | undefined {
  const root = parsed(bytes);
  const [line, exitCode] = ['line', 'exit_code'].map((name) => integerIn(root, name));
  const applied = verdicts.find((one) => one === stringIn(root, 'applied'));
  if (!line || exitCode === undefined || applied === undefined) return undefined;
  return { line, exitCode, applied };
}

const verdicts: readonly Applied[] = ['no', 'yes', 'unknown'];

function tail({ attempts, milliseconds }: Outcome): string {
  return `,"attempts":${attempts},"ms":${Math.round(milliseconds)}}\n`;
}

// Line ends can only stand between the values of JSON, and only they would break the line.
function onOneLine(bytes: Buffer): Buffer {
  if (!bytes.includes(0x0a) && !bytes.includes(0x0d)) return bytes;
  return Buffer.from(Array.from(compactPieces(rootOf(parseJson(bytes)))).join(''));
}

function replyText(bytes: Buffer): string {
  return parsed(bytes) ? onOneLine(bytes).toString() : writeJson(bytes.toString());
}

function parsed(bytes: Uint8Array): JsonNode | undefined {
  try {
    return rootOf(parseJson(bytes));
  } catch (error) {
    if (error instanceof JsonError) return undefined;
    throw error;
  }
}

function integerIn(node: JsonNode | undefined, name: string): number | undefined {
  const value = member(node, name);
  return value && kindOf(value) === 'number' && /^\d{1,15}$/.test(textOf(value)) ? Number(textOf(value)) : undefined;
}
