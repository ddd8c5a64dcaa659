import type { Failure, FailureCode } from '../../errors.ts';
import type { InputLine } from '../../files/split-lines.ts';
import { getMember, kindOf, rawText, stringOf } from '../../json/json-node.ts';
import { tryParseJson } from '../../json/parse-json.ts';
import { addFactTotals, createFactTotals, factCount } from '../../operations/received-facts.ts';
import { createDistribution, type Distribution, sharedBins } from '../distribution.ts';
import type { RunReport } from '../run-report.ts';
import { type LineResult, type LineState, type ResultLineFacts, UNSENT } from './line-facts.ts';

/** Figures over the results of a batch, in bounded memory. */
export type BatchStatistics = ReturnType<typeof createBatchStatistics>;

export function createBatchStatistics() {
  return {
    byStatus: { done: 0, failed: 0, unknown: 0, unsent: 0 },
    retries: 0,
    causes: new Map<string, CauseGroup>(),
    /** Milliseconds of the lines that were sent, with the waits of their retries, and of those without retries. */
    latency: createDistribution(1, true),
    unretriedLatency: createDistribution(1, true),
    promptTokens: createDistribution(1, true),
    completionTokens: createDistribution(1, true),
    totals: createFactTotals(),
    /** By the second, since 1970, and with the exact time: when requests were sent, and when lines ended. */
    sent: createDistribution(1),
    done: createDistribution(1),
    notDone: createDistribution(1),
    /** What requests waited for, by its name in result lines. */
    heldBy: new Map<string, number>(),
  };
}

const MAX_SLICES = 60;
const NO_LINES = { count: 0, mean: 0 };

/** Requests in flight, and lines that ended, in slices of time of equal length; times in seconds since 1970. */
export function sliceTime({ sent, done, notDone }: BatchStatistics, maxSlices = MAX_SLICES) {
  const [starts = [], goodEnds = [], badEnds = []] = sharedBins([sent, done, notDone], maxSlices);
  let open = 0;
  return starts.map(({ from, to, count, mean }, at) => {
    const [good = NO_LINES, bad = NO_LINES, seconds] = [goodEnds[at], badEnds[at], to - from];
    // Each request counts for the part of the slice in which it was in flight.
    const time = open * seconds + count * (to - mean) - good.count * (to - good.mean) - bad.count * (to - bad.mean);
    open += count - good.count - bad.count;
    const [inFlight = 0, perSecond = 0, notDonePerSecond = 0] = [time, good.count + bad.count, bad.count].map(
      (value) => Math.round((value / seconds) * 1000) / 1000,
    );
    return { from, to, seconds, inFlight, perSecond, notDonePerSecond };
  });
}

/** The mean number of requests in flight, without the times in which there was none; 0 if the results have no times. */
export function meanInFlight(statistics: BatchStatistics): number {
  const busy = sliceTime(statistics).filter(({ inFlight }) => inFlight > 0);
  const [sent, ...ends] = [statistics.sent, statistics.done, statistics.notDone].map(({ bins }) => bins(1)[0]);
  const seconds = Math.max(...ends.map((end) => end?.max ?? 0)) - (sent?.min ?? 0);
  const busySeconds = busy.reduce((sum, slice) => sum + slice.seconds, 0);
  return seconds > 0 ? statistics.latency.sum() / 1000 / Math.min(seconds, busySeconds) : 0;
}

type ResultFacts = Omit<ResultLineFacts, 'response'> & Pick<LineResult, 'status'>;

export function addResult(statistics: BatchStatistics, facts: ResultFacts): void {
  const { status, message, attempts, milliseconds, received, heldBy, endedAtMs } = facts;
  statistics.byStatus[status] += 1;
  statistics.retries += Math.max(0, attempts - 1);
  if (status === 'unsent') return;
  if (attempts > 0) statistics.latency.add(milliseconds);
  if (attempts === 1) statistics.unretriedLatency.add(milliseconds);
  for (const [distribution, name] of [
    [statistics.promptTokens, 'prompt_tokens'],
    [statistics.completionTokens, 'completion_tokens'],
  ] as const) {
    const tokens = factCount(received, name);
    if (tokens !== undefined) distribution.add(tokens);
  }
  addFactTotals(statistics.totals, received);
  if (message !== undefined) addCause(statistics, message, facts);
  if (heldBy !== undefined) statistics.heldBy.set(heldBy, (statistics.heldBy.get(heldBy) ?? 0) + 1);
  if (endedAtMs !== undefined) {
    addTime(statistics.sent, endedAtMs - milliseconds);
    addTime(status === 'done' ? statistics.done : statistics.notDone, endedAtMs);
  }
}

function addTime(distribution: Distribution, milliseconds: number): void {
  distribution.add(Math.floor(milliseconds / 1000), milliseconds / 1000);
}

/** The statistics of a running batch. Every input line that is not empty is in one of its counts. */
export type BatchCounts = ReturnType<typeof createBatchCounts>;

export function createBatchCounts() {
  const unknownLines: number[] = [];
  return {
    ...createBatchStatistics(),
    unknownLines,
    /** The number of them that `--resume` sends without `--retry-unknown`. */
    resendableLines: 0,
    /** Lines that failed after they were applied, and that `--resume` sends again. */
    resendableFailures: 0,
    bytesRead: 0,
    /** Lines that were read and are not empty; of a shard, its own. */
    linesRead: 0,
    emptyLines: 0,
    sentLines: 0,
    /** Requests of this run, retries included. */
    attempts: 0,
    /** Lines that are done by a request of this run. */
    answered: 0,
    /** Lines that failed and were, or may have been, applied. */
    unresolvedLines: 0,
    /** Lines with an invalid body. */
    invalidLines: 0,
    /** The next step for the first failed line of a kind that has one. */
    hints: {} as Readonly<Partial<Record<FailureCode, string>>>,
    lostResults: 0,
  };
}

export function totalLines({ byStatus }: BatchCounts): number {
  return byStatus.done + byStatus.failed + byStatus.unknown + byStatus.unsent;
}

/** A line without a result. */
export interface LostLine {
  /** An earlier run may have applied it. */
  readonly mayBeApplied: boolean;
  /** When its last attempt was sent, by the elapsed time of the runtime. */
  readonly sentAt: number | undefined;
  readonly hasResponse: boolean;
}

export type BatchRecord = ReturnType<typeof createBatchRecord>;

/** Counts the results of a batch, and records them as cases of the report for CI. */
export function createBatchRecord(runReport: RunReport | undefined) {
  const tally = createBatchCounts();
  const addLine = (line: number, result: LineResult): void => {
    addResult(tally, { line, ...result });
    tally.attempts += result.attempts;
    if (result.status === 'unknown') tally.unknownLines.push(line);
  };
  return {
    tally,
    /** Counts a line whose result could not be written; if it may have been applied, it is unknown with `--resume`. */
    addLost: (line: number, { sentAt, hasResponse, mayBeApplied }: LostLine): void => {
      const isSent = sentAt !== undefined;
      addLine(line, { ...UNSENT, status: isSent || mayBeApplied ? 'unknown' : 'unsent' });
      if (isSent) tally.sentLines += 1;
      if (isSent) tally.attempts += 1;
      if (hasResponse) tally.lostResults += 1;
    },
    /** Counts results that were lost after they were written. */
    loseWritten: (count: number): void => {
      tally.lostResults += count;
      tally.byStatus.unknown += tally.byStatus.done;
      tally.byStatus.done = 0;
    },
    add: (input: InputLine, result: LineResult): void => {
      addLine(input.number, result);
      if (result.isUnresolved) tally.unresolvedLines += 1;
      const { code, facts: { hint } = {} } = result.failure ?? {};
      if (code === 'body') tally.invalidLines += 1;
      if (code && hint) tally.hints = { [code]: hint, ...tally.hints };
      if (result.isUnresolved && result.isIdempotent)
        tally[result.status === 'unknown' ? 'resendableLines' : 'resendableFailures'] += 1;
      if (result.status !== 'unsent' && result.attempts > 0) tally.sentLines += 1;
      if (result.status === 'done' && result.attempts > 0) tally.answered += 1;
      if (result.status === 'unsent') runReport?.addUnsent();
      else runReport?.add(input.number, caseName(input), result.milliseconds, result);
    },
    /** Writes the report for CI; the reason is that of the lines that were not sent. */
    save: async (unsentReason?: string) => runReport?.save(unsentReason),
    /** Corrects a line that was added: its outcome is unknown after all. */
    revise: (line: number, failure: Failure, earlier: LineState): void => {
      tally.byStatus[earlier.status] -= 1;
      if (!earlier.isUnresolved) tally.unresolvedLines += 1;
      addLine(line, { ...UNSENT, status: 'unknown', message: failure.message });
      runReport?.revise(line, failure);
    },
  };
}

// From the input, because the results of earlier runs are not read again.
function caseName({ number, bytes }: InputLine): string {
  const id = bytes && getMember(tryParseJson(bytes), 'custom_id');
  if (id && kindOf(id) === 'string') return stringOf(id);
  return id && kindOf(id) === 'number' ? rawText(id) : `line ${number}`;
}

/** Failures whose messages differ only in URLs, quoted values, ids and numbers. */
interface CauseGroup {
  /** The message, split at its variable parts; the parts that differ are masked. */
  messageParts: readonly string[];
  readonly firstMessage: string;
  readonly httpStatus: number | undefined;
  count: number;
  readonly lines: number[];
}

const MAX_CAUSES = 50;
const MAX_CAUSE_LINES = 10;
const MAX_CAUSE_CHARS = 160;
const MAX_COMPARED_CHARS = 1000;
const OTHER_CAUSES = 'other causes';

// URLs, quoted values, ids and numbers differ from line to line, the cause does not.
const VARIABLE_PART = /(https?:\/\/\S+?(?=[:,;]?\s|$)|"(?:[^"\\]|\\.)*"|\b(?=\w*\d)[\w-]{8,}\b|\d+(?:\.\d+)?)/s;

function addCause({ causes }: BatchStatistics, message: string, { line, httpStatus }: ResultFacts): void {
  // The parts of odd index are variable.
  const messageParts = message.slice(0, MAX_COMPARED_CHARS).split(VARIABLE_PART);
  const maskedParts = messageParts.map((part, at) => (at % 2 === 1 ? maskPart(part) : part));
  const generalText = causeText(maskedParts, httpStatus);
  const isNamed = causes.has(generalText) || causes.size < MAX_CAUSES;
  const key = isNamed ? generalText : OTHER_CAUSES;
  const newGroup = {
    messageParts: isNamed ? messageParts : [OTHER_CAUSES],
    firstMessage: isNamed ? message.slice(0, MAX_COMPARED_CHARS) : OTHER_CAUSES,
    httpStatus: isNamed ? httpStatus : undefined,
  };
  const group = causes.get(key) ?? { ...newGroup, count: 0, lines: [] };
  causes.set(key, group);
  if (isNamed)
    group.messageParts = group.messageParts.map((part, at) =>
      part === messageParts[at] ? part : (maskedParts[at] ?? part),
    );
  group.count += 1;
  addLine(group.lines, line);
}

/** Failures by their messages without the variable parts, with their first lines in order; the most frequent first. */
export function sortedCauses({ causes }: BatchStatistics) {
  return [...causes.values()]
    .sort((left, right) => right.count - left.count)
    .map(({ messageParts, firstMessage, httpStatus, count, lines }) => {
      // A status of success is no cause, and if all words differ or the text of the response does, an example says more.
      const isExample = isSuccess(httpStatus) || !hasWords(messageParts);
      const others = isExample && messageParts.join('') !== firstMessage ? ', and others' : '';
      return { cause: causeText(isExample ? [firstMessage] : messageParts, httpStatus) + others, count, lines };
    });
}

function isSuccess(httpStatus = 0): boolean {
  return httpStatus >= 200 && httpStatus < 300;
}

function hasWords(messageParts: readonly string[]): boolean {
  return messageParts.some((part, at) => (at % 2 === 0 || !MASKS.includes(part)) && /\p{L}{2}/u.test(part));
}

const MASKS = ['the service', '"…"', '#', '…'];

function maskPart(part: string): string {
  if (part.startsWith('http')) return 'the service';
  if (part.startsWith('"')) return '"…"';
  return /^\d{1,7}(\.\d+)?$/.test(part) ? '#' : '…';
}

function causeText(messageParts: readonly string[], httpStatus: number | undefined): string {
  const message = messageParts.join('');
  const text = message.length > MAX_CAUSE_CHARS ? `${message.slice(0, MAX_CAUSE_CHARS)}…` : message;
  return httpStatus === undefined || isSuccess(httpStatus) ? text : `HTTP ${httpStatus}: ${text}`;
}

// Lines end in any order.
function addLine(lines: number[], line: number): void {
  const at = lines.findIndex((other) => other > line);
  lines.splice(at < 0 ? lines.length : at, 0, line);
  if (lines.length > MAX_CAUSE_LINES) lines.pop();
}
