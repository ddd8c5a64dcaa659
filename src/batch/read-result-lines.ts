import { createReadStream } from 'node:fs';
import { unreadableInputFailure } from '../files/read-input.ts';
import { firstStringMember, getMember, itemsAt, type JsonNode, numberMember, rootOf } from '../json/json-node.ts';
import { parseJson } from '../json/parse-json.ts';
import { countMember, messageWithIssue, type ResultFacts } from './batch-statistics.ts';
import { MAX_ENTRY_BYTES } from './read-checkpoint.ts';
import { splitLines } from './split-lines.ts';

/** The facts of a result line besides the outcome. */
export type ResultLineFacts = Omit<ResultFacts, 'status'>;

/** A result line, and its offset in its file. */
export interface ResultLine extends ResultLineFacts {
  readonly offset: number;
}

/**
 * The result lines in the first `validBytes` bytes of a checkpoint file, which readCheckpoint counts. Throws Failure `local`
 * if it cannot be read.
 */
export async function* readResultLines(
  path: string,
  displayPath: string,
  validBytes: number,
): AsyncGenerator<ResultLine> {
  if (validBytes === 0) return;
  try {
    const stream = createReadStream(path, { end: validBytes - 1 });
    for await (const { bytes, offset } of splitLines(stream, MAX_ENTRY_BYTES)) {
      if (!bytes) continue;
      yield { offset, ...resultLineFacts(rootOf(parseJson(bytes))) };
    }
  } catch (error) {
    throw unreadableInputFailure(displayPath, error);
  }
}

/** The facts of a result line; undefined members for those that it lacks. */
export function resultLineFacts(root: JsonNode | undefined): ResultLineFacts {
  const error = getMember(root, 'error');
  const [issue] = itemsAt(error, 'issues');
  const message = firstStringMember(error, 'message');
  return {
    line: countMember(root, 'line') ?? 0,
    httpStatus: numberMember(root, 'status'),
    message:
      message &&
      messageWithIssue(message, {
        path: firstStringMember(issue, 'path'),
        message: firstStringMember(issue, 'message'),
      }),
    attempts: countMember(root, 'attempts') ?? 0,
    milliseconds: countMember(root, 'ms') ?? 0,
    response: getMember(root, 'reply'),
  };
}
