import type { Failure } from '../errors.ts';
import type { JsonNode } from '../json/json-node.ts';
import { messageWithIssue } from './batch-statistics.ts';
import type { IndexedEntry } from './line-index.ts';
import { classifyLine, type LineState } from './line-status.ts';
import type { PermitHold } from './rate-limiter.ts';
import type { ResultSlot } from './result-order.ts';

/** The result of a line. */
export interface LineResult extends LineState {
  readonly failure: Failure | undefined;
  /** The message of the failure, with its first issue and without secrets. */
  readonly message: string | undefined;
  readonly attempts: number;
  /** Milliseconds from sending to the end of the response. */
  readonly milliseconds: number;
  readonly httpStatus: number | undefined;
  readonly response: JsonNode | undefined;
}

/** A result that replaces the one that was put. */
export interface LineRevision {
  readonly line: number;
  readonly failure: Failure;
  readonly earlier: LineState;
  readonly write: () => Promise<void>;
}

/** Takes the result of a line. */
export interface LineOutput extends ResultSlot {
  readonly revise: (revision: LineRevision) => void;
  /** Called when the outcome of a line that was sent is known, before its result waits for its turn. */
  readonly onOutcome: (outcome: Pick<LineResult, 'failure' | 'status'>) => void;
  /** Ended by `onOutcome`, or with the line. */
  readonly permitHold: PermitHold;
}

/** What the result of a line says that was not sent in this run. */
export const NOT_SENT = {
  message: undefined,
  attempts: 0,
  milliseconds: 0,
  httpStatus: undefined,
  response: undefined,
} as const;

/** Leaves the result of an earlier run as it is. */
export async function keepEarlierResult(earlier: IndexedEntry, { put }: ResultSlot): Promise<LineResult> {
  await put(undefined);
  return { ...classifyLine(earlier.exitCode, earlier.applied), failure: undefined, ...NOT_SENT };
}

/** The message of a failed line. */
export function failureMessage({ message, facts }: Failure, redact: (text: string) => string): string {
  return redact(messageWithIssue(message, facts.issues?.[0]));
}
