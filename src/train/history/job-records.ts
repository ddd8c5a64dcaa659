import type { Buffer } from 'node:buffer';
import { Failure } from '../../errors.ts';
import { LINE_FEED } from '../../json/json-bytes.ts';
import { firstStringMember, getMember, type JsonNode, rawText } from '../../json/json-node.ts';
import { tryParseJson } from '../../json/parse-json.ts';
import type { Runtime } from '../../runtime.ts';

/** A recorded job: the line written before it was sent, and the last line with its outcome. */
export interface TrainingJobRecord {
  readonly start: JsonNode;
  readonly end: JsonNode | undefined;
}

/**
 * The jobs in the text of a job history, oldest first. An incomplete last line, as a killed process leaves it, is ignored:
 * its event had not happened yet, or has no known outcome. Throws Failure `local` for any other invalid line, because then
 * svc cannot know what was sent.
 */
export function parseJobRecords(bytes: Buffer, path: string): TrainingJobRecord[] {
  const records = new Map<string, TrainingJobRecord>();
  for (const { line, number } of splitLines(bytes.subarray(0, completeLength(bytes)))) {
    const node = tryParseJson(line);
    const key = firstStringMember(node, 'entry') ?? '';
    const isStart = firstStringMember(node, 'started_at') !== undefined;
    const start = isStart ? node : records.get(key)?.start;
    if (!node || !start) throw invalidRecordFailure(path, number);
    records.set(key, { start, end: isStart ? undefined : node });
  }
  return [...records.values()];
}

/** The length of the complete lines of a job history in bytes; a last line without a line feed counts if it is JSON. */
export function completeLength(bytes: Buffer): number {
  const end = bytes.lastIndexOf(LINE_FEED) + 1;
  return tryParseJson(bytes.subarray(end)) ? bytes.length : end;
}

function* splitLines(bytes: Buffer): Generator<{ line: Buffer; number: number }> {
  for (let at = 0, number = 1; at < bytes.length; number += 1) {
    const found = bytes.indexOf(LINE_FEED, at);
    const end = found === -1 ? bytes.length : found;
    yield { line: bytes.subarray(at, end), number };
    at = end + 1;
  }
}

function invalidRecordFailure(path: string, line: number): Failure {
  return new Failure('local', `${path}:${line}: not a valid record of a training job, so earlier jobs are unknown`, {
    hint: 'fix that line, or move the file away to start without earlier jobs',
    applied: 'no',
  });
}

/** The outcome of a job. `in-flight`: none yet, and the process that sends it is running on this machine. */
export type JobStatus = 'applied' | 'not-applied' | 'unknown' | 'in-flight';

/** The outcome of a job as far as this machine knows. A job without an outcome and without a process may have been applied. */
export function jobStatus(
  { start, end }: TrainingJobRecord,
  { host, isRunning }: Pick<Runtime, 'host' | 'isRunning'>,
): JobStatus {
  const applied = firstStringMember(end, 'applied');
  if (applied !== undefined) return applied === 'yes' ? 'applied' : applied === 'no' ? 'not-applied' : 'unknown';
  const pid = getMember(start, 'pid');
  const isRunningHere =
    pid !== undefined && firstStringMember(start, 'host') === host && isRunning(Number(rawText(pid)));
  return isRunningHere ? 'in-flight' : 'unknown';
}
