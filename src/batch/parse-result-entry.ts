import { Buffer } from 'node:buffer';
import { type AppliedState, Failure } from '../errors.ts';
import { firstStringMember, getMember, type JsonNode, kindOf, rawText } from '../json/json-node.ts';
import { tryParseJson } from '../json/parse-json.ts';

/** The outcome of a line in a result line. */
export interface ResultEntry {
  readonly line: number;
  readonly exitCode: number;
  readonly applied: AppliedState;
}

/** The outcomes that a result line can have. */
export const appliedStates: readonly AppliedState[] = ['no', 'yes', 'unknown'];

/** Reads a result line; undefined for any other line. */
export function parseResultEntry(bytes: Uint8Array): ResultEntry | undefined {
  const root = tryParseJson(bytes);
  const [line, exitCode] = ['line', 'exit_code'].map((name) => integerMember(root, name));
  const applied = appliedStates.find((one) => one === firstStringMember(root, 'applied'));
  if (!line || exitCode === undefined || applied === undefined) return undefined;
  return { line, exitCode, applied };
}

/** The Failure of a filter on a result line, with its line number; with its outcome too, if this command sent the line. */
export function filterFailure({ code, message, facts }: Failure, resultLine: string, isSent: boolean): Failure {
  const bytes = Buffer.from(resultLine);
  const { line, applied } = parseResultEntry(bytes) ?? {};
  const outcome = isSent ? { applied, attempts: integerMember(tryParseJson(bytes), 'attempts') } : {};
  return new Failure(code, `${message} (line ${line})`, { ...facts, ...outcome });
}

function integerMember(node: JsonNode | undefined, name: string): number | undefined {
  const value = getMember(node, name);
  return value && kindOf(value) === 'number' && /^\d{1,15}$/.test(rawText(value)) ? Number(rawText(value)) : undefined;
}
