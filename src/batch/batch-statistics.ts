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
  /** What their messages have in common. */
  readonly cause: string;
  readonly count: number;
  /** The first lines, in order. */
  readonly lines: readonly number[];
}

/** Failures whose messages differ only in URLs, quoted values, ids and numbers. */
interface CauseGroup {
  /** The message, split at what may differ; what does differ is masked. */
  messageParts: readonly string[];
  readonly httpStatus: number | undefined;
  count: number;
  readonly lines: number[];
}

/** Figures over the results of a batch, in bounded memory. */
export interface BatchStatistics {
  readonly byStatus: Record<LineStatus, number>;
  /** Attempts after the first. */
  retries: number;
  readonly causes: Map<string, CauseGroup>;
  /** Milliseconds of the lines that were sent. */
  readonly latency: Distribution;
  readonly promptTokens: Distribution;
  readonly completionTokens: Distribution;
}

const MAX_CAUSES = 50;
const MAX_CAUSE_LINES = 10;
const MAX_CAUSE_CHARS = 160;
const MAX_COMPARED_CHARS = 1000;
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
  return [...causes.values()]
    .sort((left, right) => right.count - left.count)
    .map(({ messageParts, httpStatus, count, lines }) => ({
      cause: causeText(messageParts, httpStatus),
      count,
      lines,
    }));
}

// URLs, quoted values, ids and numbers differ from line to line, the cause does not.
const VARIABLE_PART = /(https?:\/\/\S+?(?=[:,;]?\s|$)|"(?:[^"\\]|\\.)*"|\b(?=\w*\d)[\w-]{8,}\b|\d+(?:\.\d+)?)/s;

function maskPart(part: string): string {
  if (part.startsWith('http')) return 'the service';
  if (part.startsWith('"')) return '"…"';
  return /^\d{1,7}(\.\d+)?$/.test(part) ? '#' : '…';
}

function causeText(messageParts: readonly string[], httpStatus: number | undefined): string {
  const message = messageParts.join('');
  const text = message.length > MAX_CAUSE_CHARS ? `${message.slice(0, MAX_CAUSE_CHARS)}…` : message;
  return httpStatus === undefined ? text : `HTTP ${httpStatus}: ${text}`;
}

function addCause(causes: Map<string, CauseGroup>, message: string, { line, httpStatus }: ResultFacts): void {
  // The parts of odd index are variable.
  const messageParts = message.slice(0, MAX_COMPARED_CHARS).split(VARIABLE_PART);
  const maskedParts = messageParts.map((part, at) => (at % 2 === 1 ? maskPart(part) : part));
  const generalText = causeText(maskedParts, httpStatus);
  const isNamed = causes.has(generalText) || causes.size < MAX_CAUSES;
  const key = isNamed ? generalText : OTHER_CAUSES;
  const newGroup = isNamed ? { messageParts, httpStatus } : { messageParts: [OTHER_CAUSES], httpStatus: undefined };
  const group = causes.get(key) ?? { ...newGroup, count: 0, lines: [] };
  causes.set(key, group);
  if (isNamed)
    group.messageParts = group.messageParts.map((part, at) => (part === messageParts[at] ? part : maskPart(part)));
  group.count += 1;
  addLine(group.lines, line);
}

// Lines end in any order.
function addLine(lines: number[], line: number): void {
  const at = lines.findIndex((other) => other > line);
  lines.splice(at < 0 ? lines.length : at, 0, line);
  if (lines.length > MAX_CAUSE_LINES) lines.pop();
}

function addTokens(distribution: Distribution, response: JsonNode | undefined, name: string): void {
  const tokens = numberMember(getMember(response, 'usage'), name);
  if (tokens !== undefined) distribution.add(Math.max(0, tokens));
}
