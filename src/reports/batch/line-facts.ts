import type { Failure } from '../../errors.ts';
import { firstStringMember, getMember, itemsAt, type JsonNode, numberMember } from '../../json/json-node.ts';
import type { JsonValue } from '../../json/write-json.ts';
import { readLineFacts } from '../../operations/received-facts.ts';

export type LineStatus = 'done' | 'failed' | 'unknown' | 'unsent';

export interface LineState {
  readonly status: LineStatus;
  /** The line failed, and was or may have been applied. */
  readonly isUnresolved: boolean;
}

export interface LineResult extends LineState, Omit<ResultLineFacts, 'line' | 'response'> {
  readonly failure: Failure | undefined;
  /** The line was sent, by this run or an earlier one, and is safe to send again. */
  readonly isIdempotent: boolean;
  /** Signs that the response is for another request. */
  readonly warnings: readonly string[];
  readonly expectations: readonly JsonValue[];
}

export const UNSENT: LineResult = {
  status: 'unsent',
  isUnresolved: false,
  failure: undefined,
  isIdempotent: false,
  message: undefined,
  attempts: 0,
  milliseconds: 0,
  httpStatus: undefined,
  received: {},
  warnings: [],
  expectations: [],
  endedAtMs: undefined,
  heldBy: undefined,
};

export type ResultLineFacts = ReturnType<typeof resultLineFacts>;

/** The facts of a result line; undefined for those that it lacks. `milliseconds` end with the response. */
export function resultLineFacts(root: JsonNode | undefined) {
  const error = getMember(root, 'error');
  const [issue] = itemsAt(error, 'issues');
  const text = firstStringMember(error, 'message');
  const [path, problem] = ['path', 'message'].map((name) => firstStringMember(issue, name));
  return {
    line: countMember(root, 'line') ?? 0,
    httpStatus: numberMember(root, 'status'),
    /** The message of the failure, with its first issue and without secrets. */
    message: text && messageWithIssue(text, { path, message: problem }),
    attempts: countMember(root, 'attempts') ?? 0,
    milliseconds: countMember(root, 'ms') ?? 0,
    response: getMember(root, 'response'),
    received: readLineFacts(root),
    /** Milliseconds since 1970; undefined for a line that was not sent. */
    endedAtMs: Date.parse(firstStringMember(root, 'ended_at') ?? '') || undefined,
    /** What the request waited for before it was sent: one of `holds`, or of a later version. */
    heldBy: firstStringMember(root, 'held_by'),
  };
}

/** What keeps a batch from more requests in flight, by its name in result lines. */
export const holds = {
  concurrency: '--concurrency',
  paid: 'the maximum for requests that cost money or are sent once',
  safe: 'the maximum for requests that are safe to repeat',
  jobs: 'the maximum for training jobs',
  failure_flags: 'the maximum with a flag that stops the batch',
  open_files: 'half of the file descriptors',
  refusals: 'the service refuses more',
  latency: 'more would not be faster',
  memory: 'the memory for responses',
  order: 'results before them, for --ordered',
  rate: '--rate',
  token_rate: '--token-rate',
  budget: 'a limit of tokens or cost is near',
  wait: 'waits for the service',
  outage: 'the service could not be used',
} as const;

export type Hold = keyof typeof holds;

// A field that is a count, 0 for negative numbers; undefined for anything else, also for numbers above 2^53 - 1.
function countMember(node: JsonNode | undefined, name: string): number | undefined {
  const count = Math.max(0, numberMember(node, name) ?? Number.NaN);
  return count <= Number.MAX_SAFE_INTEGER ? count : undefined;
}

export function messageWithIssue(message: string, issue: { [part in 'path' | 'message']?: string | undefined } = {}) {
  if (!issue.message) return message;
  return `${message}: ${issue.path ? `${issue.path}: ` : ''}${issue.message}`;
}
