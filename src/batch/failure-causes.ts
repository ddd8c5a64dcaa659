/** Failures with the same cause. */
export interface FailureCause {
  /** The common part of their messages. */
  readonly cause: string;
  readonly count: number;
  /** The first lines, in order. */
  readonly lines: readonly number[];
}

/** Failures whose messages differ only in URLs, quoted values, ids and numbers. */
interface CauseGroup {
  /** The message, split at its variable parts; the parts that differ are masked. */
  messageParts: readonly string[];
  readonly httpStatus: number | undefined;
  count: number;
  readonly lines: number[];
}

/** The causes of failures, by their messages without the variable parts. */
export type FailureCauses = Map<string, CauseGroup>;

const MAX_CAUSES = 50;
const MAX_CAUSE_LINES = 10;
const MAX_CAUSE_CHARS = 160;
const MAX_COMPARED_CHARS = 1000;
const OTHER_CAUSES = 'other causes';

// URLs, quoted values, ids and numbers differ from line to line, the cause does not.
const VARIABLE_PART = /(https?:\/\/\S+?(?=[:,;]?\s|$)|"(?:[^"\\]|\\.)*"|\b(?=\w*\d)[\w-]{8,}\b|\d+(?:\.\d+)?)/s;

/** Adds the message of a failure. */
export function addCause(
  causes: FailureCauses,
  message: string,
  { line, httpStatus }: { readonly line: number; readonly httpStatus: number | undefined },
): void {
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
    group.messageParts = group.messageParts.map((part, at) =>
      part === messageParts[at] ? part : (maskedParts[at] ?? part),
    );
  group.count += 1;
  addLine(group.lines, line);
}

/** Causes with their counts and first lines, the most frequent first. */
export function sortedCauses(causes: FailureCauses): FailureCause[] {
  return [...causes.values()]
    .sort((left, right) => right.count - left.count)
    .map(({ messageParts, httpStatus, count, lines }) => ({
      cause: causeText(messageParts, httpStatus),
      count,
      lines,
    }));
}

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

// Lines end in any order.
function addLine(lines: number[], line: number): void {
  const at = lines.findIndex((other) => other > line);
  lines.splice(at < 0 ? lines.length : at, 0, line);
  if (lines.length > MAX_CAUSE_LINES) lines.pop();
}
