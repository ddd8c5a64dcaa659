import type { Buffer } from 'node:buffer';
import { Failure } from '../errors.ts';
import { parseJson } from '../json/document.ts';
import { JsonError } from '../json/json-error.ts';
import { type JsonNode, rootOf, stringIn } from '../json/node.ts';

/** A job in a ledger: the line it was started with, and the last one that says what became of it. */
export interface Entry {
  readonly start: JsonNode;
  readonly end: JsonNode | undefined;
}

const LINE_END = 0x0a;

/**
 * The jobs in the text of a ledger, the oldest first. A last line that is torn, as a process that is killed leaves it,
 * says nothing: what it would have said had not happened yet, or has no known outcome. Throws Failure `local` for any
 * other line that is no entry, because then nobody can tell what was sent.
 */
export function entriesIn(bytes: Buffer, path: string): Entry[] {
  const entries = new Map<string, Entry>();
  for (const { line, number } of linesIn(bytes.subarray(0, wholeLength(bytes)))) {
    const node = nodeOf(line);
    const key = stringIn(node, 'entry') ?? '';
    const isStart = stringIn(node, 'started_at') !== undefined;
    const start = isStart ? node : entries.get(key)?.start;
    if (!node || !start) throw unreadable(path, number);
    entries.set(key, { start, end: isStart ? undefined : node });
  }
  return [...entries.values()];
}

/** How many bytes of a ledger are lines; a last one without its end is one where it is JSON. */
export function wholeLength(bytes: Buffer): number {
  const end = bytes.lastIndexOf(LINE_END) + 1;
  return nodeOf(bytes.subarray(end)) ? bytes.length : end;
}

function* linesIn(bytes: Buffer): Generator<{ line: Buffer; number: number }> {
  for (let at = 0, number = 1; at < bytes.length; number += 1) {
    const found = bytes.indexOf(LINE_END, at);
    const end = found === -1 ? bytes.length : found;
    yield { line: bytes.subarray(at, end), number };
    at = end + 1;
  }
}

function nodeOf(line: Buffer): JsonNode | undefined {
  try {
    return rootOf(parseJson(line));
  } catch (error) {
    if (error instanceof JsonError) return undefined;
    throw error;
  }
}

function unreadable(path: string, line: number): Failure {
  return new Failure('local', `${path}:${line} is no entry of a training job, so nobody can tell what was sent`, {
    hint: 'mend that line; or move the file away, and svc knows of no earlier job',
    applied: 'no',
  });
}
