import { getMember, type JsonNode } from '../json/json-node.ts';
import type { LineStatus } from './batch-counts.ts';
import { createDistribution, type Distribution } from './distribution.ts';
import { addCause, type FailureCauses } from './failure-causes.ts';
import { countMember, type ResultLineFacts } from './result-line.ts';

/** The parts of a result that statistics need. */
export interface ResultFacts extends ResultLineFacts {
  readonly status: LineStatus;
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

function addTokens(distribution: Distribution, response: JsonNode | undefined, name: string): void {
  const tokens = countMember(getMember(response, 'usage'), name);
  if (tokens !== undefined) distribution.add(tokens);
}
