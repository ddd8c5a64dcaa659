import { Failure, failureCodeOf } from '../errors.ts';
import type { JsonNode } from '../json/json-node.ts';
import { tryParseJson } from '../json/parse-json.ts';
import { classifyLine, type LineState } from './line-status.ts';
import { messageWithIssue, resultLineFacts } from './result-line.ts';
import type { PriorEntry } from './result-store.ts';
import type { Turn } from './scheduler.ts';

/** The result of a line. */
export interface LineResult extends LineState {
  readonly failure: Failure | undefined;
  /** The line was sent, by this run or an earlier one, and is safe to send again. */
  readonly isIdempotent: boolean;
  /** The message of the failure, with its first issue and without secrets. */
  readonly message: string | undefined;
  readonly attempts: number;
  /** Milliseconds from sending to the end of the response. */
  readonly milliseconds: number;
  readonly httpStatus: number | undefined;
  readonly response: JsonNode | undefined;
  /** Signs that the response is for another request. */
  readonly warnings: readonly string[];
}

/** A result that replaces an earlier one of this run. */
export interface LineRevision {
  readonly line: number;
  readonly failure: Failure;
  readonly earlier: LineState;
  readonly write: () => Promise<void>;
}

/** How far a line got, in case its result cannot be stored. */
export interface LineProgress {
  /** This run or an earlier one may have applied it. */
  mayBeApplied: boolean;
  /** This run sent it. */
  isSent: boolean;
  hasResponse: boolean;
}

/** Takes the result of a line. */
export interface LineOutput {
  /** Writes the result, or nothing, when it is its turn. After a failed write nothing more is written. */
  readonly put: (result: Uint8Array | undefined) => Promise<void>;
  readonly progress: LineProgress;
  readonly revise: (revision: LineRevision) => void;
  /** Called when the outcome of a line is known, before its result waits to be written. */
  readonly onOutcome: (outcome: Pick<LineResult, 'failure' | 'status'>) => void;
  /** Released by `onOutcome`, or with the line. */
  readonly turn: Turn;
}

/** The result of a line that was not sent in this run. */
export const NOT_SENT = {
  isIdempotent: false,
  message: undefined,
  attempts: 0,
  milliseconds: 0,
  httpStatus: undefined,
  response: undefined,
  warnings: [],
} as const;

/** Leaves the result of an earlier run as it is; its failure does not stop this one. */
export async function keepEarlierResult(earlier: PriorEntry, { put, onOutcome }: LineOutput): Promise<LineResult> {
  await put(undefined);
  const { exitCode, applied } = earlier;
  const state = classifyLine(exitCode, applied);
  onOutcome({ failure: undefined, status: state.status });
  if (exitCode === 0) return { ...state, failure: undefined, ...NOT_SENT };
  const { message = 'the line failed in an earlier run', httpStatus } = resultLineFacts(
    tryParseJson(await earlier.read()),
  );
  const failure = new Failure(failureCodeOf(exitCode) ?? 'failed', message, { applied, status: httpStatus });
  return { ...state, failure, ...NOT_SENT, message, httpStatus };
}

/** The message of a failed line. */
export function failureMessage({ message, facts }: Failure, redact: (text: string) => string): string {
  return redact(messageWithIssue(message, facts.issues?.[0]));
}
