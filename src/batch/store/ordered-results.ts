import { Buffer } from 'node:buffer';
import { open } from 'node:fs/promises';
import { Failure } from '../../errors.ts';
import { withFileFailure } from '../../files/file-errors.ts';
import { type InputLine, splitLineBatches, splitLines } from '../../files/split-lines.ts';
import { LINE_FEED } from '../../json/json-bytes.ts';
import { createLineRanges } from '../../output/transfer-text.ts';
import { classifyLine } from '../../reports/batch/line-facts.ts';
import { type BatchInput, isEmptyLine } from '../read/batch-input.ts';
import { MAX_RESULT_BYTES, type OutputPath } from './output-file.ts';
import { digestInputLine, parseOwnResultLine } from './result-line.ts';

export type OrderedResults = NonNullable<Awaited<ReturnType<typeof readOrderedResults>>>;

/**
 * Reads outputs whose results follow each other, as those of the parts of a file do, in the memory of a chunk, and compares them
 * with the lines of their input. Undefined for any others: these need a table of their lines. Throws Failure `local_file`.
 */
export async function readOrderedResults(
  outputs: readonly OutputPath[],
  openInput: (operation: string) => Promise<BatchInput | undefined>,
) {
  const starts = await orderByFirstLine(outputs);
  const [first] = starts ?? [];
  if (!starts || !first) return undefined;
  const counts = { done: 0, failed: 0, unknown: 0, unsent: 0 };
  const batchOf = ({ operation, shard }: typeof first.checkpoint): string =>
    `${operation} ${shard.slice(shard.indexOf('/'))}`;
  const batch = batchOf(first.checkpoint);
  const comparison = createComparison(await openInput(first.checkpoint.operation));
  const parts: { readonly output: OutputPath; readonly bytes: number }[] = [];
  let lastLine = 0;
  try {
    for (const { output } of starts) {
      let end = 0;
      for await (const lines of splitLineBatches(readWholeLines(output), MAX_RESULT_BYTES))
        for (const { bytes, offset, length, isTorn } of lines) {
          const entry = bytes && !isTorn ? parseOwnResultLine(bytes) : undefined;
          if (!entry || entry.line <= lastLine || batchOf(entry.checkpoint) !== batch) return undefined;
          counts[classifyLine(entry.exitCode, entry.applied).status] += 1;
          await comparison.add(entry.line, entry.checkpoint.input);
          lastLine = entry.line;
          end = offset + length;
        }
      parts.push({ output, bytes: end });
    }
    await comparison.finish();
    return { parts, counts, lastLine, ...comparison.found };
  } finally {
    await comparison.close();
  }
}

// Undefined if an output does not begin with a result. An empty one has none to order.
async function orderByFirstLine(outputs: readonly OutputPath[]) {
  const starts = [];
  for (const output of outputs)
    for await (const { bytes } of splitLines(readWholeLines(output), MAX_RESULT_BYTES)) {
      const entry = bytes && parseOwnResultLine(bytes);
      if (!entry) return undefined;
      starts.push({ output, line: entry.line, checkpoint: entry.checkpoint });
      break;
    }
  return starts.sort((one, other) => one.line - other.line);
}

// Goes through the lines of an input beside the results, which come in ascending order. Without an input, every gap is missing.
function createComparison(input: BatchInput | undefined) {
  const found = { missing: createLineRanges(), changed: createLineRanges(), removed: createLineRanges() };
  const file = input?.file;
  const lines = (file ? file.split(readWholeLines({ path: file.path, displayPath: input.label })) : input?.lines)?.[
    Symbol.asyncIterator
  ]();
  let next = 1;
  // The line of a number, or the first after it; those before it have no result.
  const readTo = async (number: number): Promise<InputLine | undefined> => {
    for (;;) {
      const { value } = (await lines?.next()) ?? {};
      const line: InputLine | undefined = value;
      if (!line || line.number >= number) return line;
      if (!isEmptyLine(line)) found.missing.add(line.number);
    }
  };
  return {
    found,
    add: async (number: number, digest: string): Promise<void> => {
      if (lines) {
        const line = await readTo(number);
        if (!line || isEmptyLine(line)) found.removed.add(number);
        else if (digestInputLine(line) !== digest) found.changed.add(number);
      } else if (next < number) found.missing.add(next, number - 1);
      next = number + 1;
    },
    finish: async (): Promise<void> => {
      if (lines) await readTo(Number.POSITIVE_INFINITY);
    },
    close: async (): Promise<void> => {
      await lines?.return?.();
    },
  };
}

/** Writes ordered results, byte for byte and in whole lines. Throws Failure `local_file` for an output that changed since. */
export async function copyOrderedResults(
  { parts }: OrderedResults,
  write: (results: Uint8Array) => Promise<void>,
): Promise<void> {
  for (const { output, bytes } of parts) {
    let copied = 0;
    for await (const lines of readWholeLines(output, bytes)) {
      copied += lines.length;
      await write(lines);
    }
    if (copied !== bytes)
      throw new Failure('local_file', `${output.displayPath} changed while svc read it`, {
        hint: 'run the command again',
      });
  }
}

const BUFFER_BYTES = 256 * 1024;

// Chunks of whole lines, up to a position. Each is valid until the next, because a buffer for each one would be much garbage.
async function* readWholeLines(
  { path, displayPath }: OutputPath,
  end = Number.POSITIVE_INFINITY,
): AsyncGenerator<Buffer, undefined> {
  const file = await withFileFailure(`read ${displayPath}`, () => open(path));
  let buffer = Buffer.allocUnsafe(BUFFER_BYTES);
  let position = 0;
  let kept = 0;
  try {
    while (kept < MAX_RESULT_BYTES) {
      if (kept === buffer.length) buffer = Buffer.concat([buffer], buffer.length * 2);
      const length = Math.min(buffer.length - kept, end - position);
      const { bytesRead } = await file.read(buffer, kept, length, position);
      if (bytesRead === 0) break;
      position += bytesRead;
      const filled = kept + bytesRead;
      const whole = buffer.subarray(0, filled).lastIndexOf(LINE_FEED) + 1;
      if (whole > 0) yield buffer.subarray(0, whole);
      buffer.copyWithin(0, whole, filled);
      kept = filled - whole;
    }
    if (kept > 0) yield buffer.subarray(0, kept);
    return undefined;
  } finally {
    await file.close();
  }
}
