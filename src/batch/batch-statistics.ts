import { getMember, type JsonNode, numberMember } from '../json/json-node.ts';
import type { LineStatus } from './batch-counts.ts';
import { createDistribution, type Distribution } from './distribution.ts';

/** A result, as far as statistics need it. */
export interface ResultFacts {
  readonly line: number;
  readonly status: LineStatus;
  readonly httpStatus: number | undefined;
  /** The message of a failure. */
  readonly message: string | undefined;
  readonly attempts: number;
  readonly milliseconds: number;
  /** The response, if it is JSON. */
  readonly response: JsonNode | undefined;
}

/** Failures with the same cause. */
export interface FailureCause {
  /** The message while all are equal, and then what they have in common. */
  cause: string;
  count: number;
  /** The first lines. */
  readonly lines: number[];
}

/** Figures over the results of a batch, in bounded memory. */
export interface BatchStatistics {
  readonly byStatus: Record<LineStatus, number>;
  /** Attempts after the first. */
  retries: number;
  readonly causes: Map<string, FailureCause>;
  /** Milliseconds of the lines that were sent. */
  readonly latency: Distribution;
  readonly promptTokens: Distribution;
  readonly completionTokens: Distribution;
}

const MAX_CAUSES = 50;
const MAX_CAUSE_LINES = 10;
const MAX_CAUSE_CHARS = 160;
const OTHER_CAUSES = 'other causes';

/** Statistics without results. */
export function createBatchStatistics(): BatchStatistics {
  return {
    byStatus: { done: 0, failed: 0, unknown: 0, unsent: 0 },
    retries: 0,
    causes: new Map(),
    latency: createDistribution(),
    promptTokens: createDistribution(),
    completionTokens: createDistribution(),
  };
}

/** Adds a result. */
export function addResult(statistics: BatchStatistics, facts: ResultFacts): void {
  const { status, message, attempts, milliseconds, response } = facts;
  statistics.byStatus[status] += 1;
  statistics.retries += Math.max(0, attempts - 1);
  if (attempts > 0) statistics.latency.add(milliseconds);
  addTokens(statistics.promptTokens, response, 'prompt_tokens');
  addTokens(statistics.completionTokens, response, 'completion_tokens');
  if (message !== undefined && status !== 'unsent') addCause(statistics.causes, message, facts);
}

/** The message of a failure, with the first of its issues. */
export function messageWithIssue(
  message: string,
  issue: { readonly path?: string | undefined; readonly message?: string | undefined } | undefined,
): string {
  if (!issue?.message) return message;
  return `${message}: ${issue.path ? `${issue.path}: ` : ''}${issue.message}`;
}

/** Causes with their counts and first lines, the most frequent first. */
export function sortedCauses({ causes }: BatchStatistics): FailureCause[] {
  return [...causes.values()].sort((left, right) => right.count - left.count);
}

// Ids, numbers and quoted values differ from line to line, the cause does not.
function generalMessage(message: string): string {
  return message
    .replace(/https?:\/\/\S+?(?=[:,;]?\s|$)/g, 'the service')
    .replace(/"(?:[^"\\]|\\.)*"/gs, '"…"')
    .replace(/\b(?=\w*\d)[\w-]{8,}\b/g, '…')
    .replace(/\d+(\.\d+)?/g, '#');
}

function causeText(message: string, httpStatus: number | undefined): string {
  const text = message.length > MAX_CAUSE_CHARS ? `${message.slice(0, MAX_CAUSE_CHARS)}…` : message;
  return httpStatus === undefined ? text : `HTTP ${httpStatus}: ${text}`;
}

function addCause(causes: Map<string, FailureCause>, message: string, { line, httpStatus }: ResultFacts): void {
  const text = causeText(message, httpStatus);
  const generalText = causeText(generalMessage(message), httpStatus);
  const key = causes.has(generalText) || causes.size < MAX_CAUSES ? generalText : OTHER_CAUSES;
  const cause = causes.get(key) ?? { cause: key === OTHER_CAUSES ? key : text, count: 0, lines: [] };
  causes.set(key, cause);
  if (cause.cause !== text) cause.cause = key;
  cause.count += 1;
  if (cause.lines.length < MAX_CAUSE_LINES) cause.lines.push(line);
}

function addTokens(distribution: Distribution, response: JsonNode | undefined, name: string): void {
  const tokens = numberMember(getMember(response, 'usage'), name);
  if (tokens !== undefined) distribution.add(Math.max(0, tokens));
}
