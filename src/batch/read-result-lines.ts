import { createReadStream } from 'node:fs';
import { unreadableInputFailure } from '../files/read-input.ts';
import { firstStringMember, getMember, type JsonNode, kindOf, rawText, rootOf } from '../json/json-node.ts';
import { parseJson } from '../json/parse-json.ts';
import type { ResultFacts } from './batch-statistics.ts';
import { splitLines } from './split-lines.ts';

/** A result line, and where it begins in its file. */
export interface ResultLine extends Omit<ResultFacts, 'status'> {
  readonly offset: number;
}

// As in a checkpoint.
const MAX_RESULT_BYTES = 256 * 1024 * 1024;

/** The result lines of a checkpoint file that was read before. Throws Failure `local` where it cannot be read. */
export async function* readResultLines(path: string, displayPath: string): AsyncGenerator<ResultLine> {
  try {
    for await (const { bytes, offset } of splitLines(createReadStream(path), MAX_RESULT_BYTES)) {
      if (!bytes) continue;
      const root = rootOf(parseJson(bytes));
      const error = getMember(root, 'error');
      yield {
        offset,
        line: numberIn(root, 'line') ?? 0,
        httpStatus: numberIn(root, 'status'),
        message: error && kindOf(error) === 'object' ? firstStringMember(error, 'message') : undefined,
        attempts: numberIn(root, 'attempts') ?? 0,
        milliseconds: numberIn(root, 'ms') ?? 0,
        response: getMember(root, 'reply'),
      };
    }
  } catch (error) {
    throw unreadableInputFailure(displayPath, error);
  }
}

function numberIn(root: JsonNode, name: string): number | undefined {
  const value = getMember(root, name);
  return value && kindOf(value) === 'number' ? Number(rawText(value)) : undefined;
}
