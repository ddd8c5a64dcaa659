import type { AppliedState, Failure } from '../errors.ts';
import type { JsonNode } from '../json/json-node.ts';

export type LineStatus = 'done' | 'failed' | 'unknown' | 'unsent';

export interface LineState {
  readonly status: LineStatus;
  /** The line failed, and was or may have been applied. */
  readonly isUnresolved: boolean;
}

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

export const NOT_SENT = {
  isIdempotent: false,
  message: undefined,
  attempts: 0,
  milliseconds: 0,
  httpStatus: undefined,
  response: undefined,
  warnings: [],
} as const;

/** The status of a line with this outcome. */
export function classifyLine(exitCode: number, applied: AppliedState = 'no'): LineState {
  if (exitCode === 0) return { status: 'done', isUnresolved: false };
  return { status: applied === 'unknown' ? 'unknown' : 'failed', isUnresolved: applied !== 'no' };
}
