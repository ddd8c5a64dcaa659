import { getMember, type JsonNode, numberMember } from '../json/json-node.ts';
import type { LineStatus } from './batch-counts.ts';
import { createDistribution, type Distribution } from './distribution.ts';
import { addCause, type FailureCauses } from './failure-causes.ts';

/** The parts of a result that statistics need. */
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

/** Figures over the results of a batch, in bounded memory. */
export interface BatchStatistics {
  readonly byStatus: Record<LineStatus, number>;
  /** Attempts after the first. */
  retries: number;
  readonly causes: FailureCauses;
  /** Milliseconds of the lines that were sent. */
  readonly latency: Distribution;
  readonly promptTokens: Distribution;
  readonly completionTokens: Distribution;
}

/** Empty statistics. */
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

/** A member that is a count, 0 for negative numbers; undefined for anything else, also for numbers above 2^53 - 1. */
export function countMember(node: JsonNode | undefined, name: string): number | undefined {
  const count = Math.max(0, numberMember(node, name) ?? Number.NaN);
  return count <= Number.MAX_SAFE_INTEGER ? count : undefined;
}

/** The message of a failure, with the first of its issues. */
export function messageWithIssue(
  message: string,
  issue: { readonly path?: string | undefined; readonly message?: string | undefined } | undefined,
): string {
  if (!issue?.message) return message;
  return `${message}: ${issue.path ? `${issue.path}: ` : ''}${issue.message}`;
}

function addTokens(distribution: Distribution, response: JsonNode | undefined, name: string): void {
  const tokens = countMember(getMember(response, 'usage'), name);
  if (tokens !== undefined) distribution.add(tokens);
}
