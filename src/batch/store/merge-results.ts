import { Buffer } from 'node:buffer';
import { open } from 'node:fs/promises';
import { Failure, safetyFailure } from '../../errors.ts';
import { withFileFailure } from '../../files/file-errors.ts';
import { createLineRanges, type InputLine, splitLineBatches, splitLines } from '../../files/split-lines.ts';
import { LINE_FEED } from '../../json/json-bytes.ts';
import { shellWord } from '../../output/shell-quote.ts';
import { type BatchInput, isEmptyLine } from '../read/batch-input.ts';
import { isTableName } from '../read/table-records.ts';
import { createLineTable, type LineTable } from './line-table.ts';
import { MAX_RESULT_BYTES, type OutputPath, readOutput, writeResultsInOrder } from './output-file.ts';
import { type Checkpoint, classifyLine, digestInputLine, parseResultLine, type ResultEntry } from './result-line.ts';
import { requireSameInput } from './result-store.ts';

type Reader = (output: OutputPath, end?: number) => AsyncGenerator<Buffer, undefined>;

type OpenInput = (operation: string | undefined) => Promise<BatchInput | undefined>;

type MergedResults = ReturnType<typeof createMerge>['merged'] & {
  readonly writeResults: (write: (results: Uint8Array) => Promise<void>) => Promise<void>;
};

/**
 * Counts the results of sharded batches in the order of their lines, and compares them with their input, if there is one. Throws
 * Failure `safety_check` for outputs of several batches and for another input, and `local_file`. An input that can be read only
 * once, such as a pipe, needs memory for each line.
 */
export async function mergeResults(
  outputs: readonly OutputPath[],
  openInput: OpenInput,
  isInputReadOnce: boolean,
): Promise<MergedResults> {
  return (isInputReadOnce ? undefined : await mergeInOrder(outputs, openInput)) ?? mergeByTable(outputs, openInput);
}

// Results that follow each other, as those of the parts of a file do, need the memory of a chunk. Undefined for any others.
async function mergeInOrder(outputs: readonly OutputPath[], openInput: OpenInput): Promise<MergedResults | undefined> {
  const readResults = createReader();
  const starts = await orderByFirstLine(outputs, readResults);
  const [first] = starts ?? [];
  if (!starts || !first) return undefined;
  const batch = describeBatch(first.checkpoint);
  const parts: { readonly output: OutputPath; readonly bytes: number }[] = [];
  const { merged, add, finish, close } = createMerge(await openInput(first.checkpoint.operation));
  try {
    for (const { output } of starts) {
      let end = 0;
      for await (const lines of splitLineBatches(readResults(output), MAX_RESULT_BYTES))
        for (const { bytes, offset, length, isTorn } of lines) {
          const entry = bytes && !isTorn ? parseResultLine(bytes) : undefined;
          if (!entry?.checkpoint || entry.line <= merged.lastLine || describeBatch(entry.checkpoint) !== batch)
            return undefined;
          await add(entry, entry.checkpoint.input);
          merged.shards.add(entry.checkpoint.shard);
          end = offset + length;
        }
      parts.push({ output, bytes: end });
    }
    await finish();
  } finally {
    await close();
  }
  const writeResults: MergedResults['writeResults'] = async (write) => {
    for (const { output, bytes } of parts) await copyResults(readResults(output, bytes), output, bytes, write);
  };
  return { ...merged, writeResults };
}

// Undefined if an output does not begin with a result. An empty one has none to order.
async function orderByFirstLine(outputs: readonly OutputPath[], readResults: Reader) {
  const starts = [];
  for (const output of outputs)
    for await (const { bytes } of splitLines(readResults(output), MAX_RESULT_BYTES)) {
      const { line, checkpoint } = (bytes && parseResultLine(bytes)) ?? {};
      if (line === undefined || !checkpoint) return undefined;
      starts.push({ output, line, checkpoint });
      break;
    }
  return starts.sort((one, other) => one.line - other.line);
}

async function copyResults(
  results: AsyncIterable<Buffer>,
  output: OutputPath,
  bytes: number,
  write: (results: Uint8Array) => Promise<void>,
): Promise<void> {
  let copied = 0;
  for await (const lines of results) {
    copied += lines.length;
    await write(lines);
  }
  if (copied === bytes) return;
  throw new Failure('local_file', `${output.displayPath} changed while svc read it`, { hint: 'run the command again' });
}

async function mergeByTable(outputs: readonly OutputPath[], openInput: OpenInput): Promise<MergedResults> {
  const table = createLineTable();
  const shards = new Set<string>();
  const { merged, add, finish, close } = createMerge(await openInput(await readOutputs(outputs, table, shards)));
  try {
    for (const line of table.lines()) {
      const result = table.result(line);
      if (result) await add({ ...result, line }, result.digest);
    }
    await finish();
  } finally {
    await close();
  }
  return { ...merged, shards, writeResults: (write) => writeResultsInOrder(table, outputs, write) };
}

async function readOutputs(
  outputs: readonly OutputPath[],
  table: LineTable,
  shards: Set<string>,
): Promise<string | undefined> {
  let first: { displayPath: string; operation: string; text: string } | undefined;
  for (const [at, output] of outputs.entries()) {
    const { displayPath } = output;
    const { checkpoints, otherInputLines } = await readOutput(output, at, table);
    for (const checkpoint of checkpoints) {
      const text = describeBatch(checkpoint);
      shards.add(checkpoint.shard);
      first ??= { displayPath, operation: checkpoint.operation, text };
      if (text !== first.text)
        throw otherBatchFailure(first.displayPath, displayPath, `they hold results of ${first.text} and of ${text}`);
    }
    const [line] = otherInputLines;
    const earlier = line === undefined ? undefined : outputs[table.result(line)?.fileIndex ?? 0];
    if (earlier) throw otherBatchFailure(earlier.displayPath, displayPath, `line ${line} of their inputs differs`);
  }
  return first?.operation;
}

function describeBatch({ operation, shard }: Checkpoint): string {
  const count = shard.slice(shard.indexOf('/') + 1);
  return `${operation}${count === '1' ? '' : ` in ${count} shards`}`;
}

function otherBatchFailure(first: string, other: string, reason: string): Failure {
  const message = `${first} and ${other} do not belong to the same batch: ${reason}`;
  const hint = 'merge the outputs of one batch, each shard once';
  return safetyFailure('other_batch', message, { hint });
}

// Goes through the lines of an input beside the results, which come in ascending order. Without an input, every gap is missing.
function createMerge(input: BatchInput | undefined) {
  const [missing, changed, removed] = [createLineRanges(), createLineRanges(), createLineRanges()];
  const counts = { done: 0, failed: 0, unknown: 0, unsent: 0 };
  const merged = { counts, failedApplied: 0, lastLine: 0, missing, shards: new Set<string>() };
  const file = input?.file && { path: input.file.path, displayPath: input.label };
  const source = file ? input?.file?.split(createReader()(file)) : input?.lines;
  const lines = source?.[Symbol.asyncIterator]();
  // The line of a number, or the first after it; those before it have no result.
  const readTo = async (number: number): Promise<InputLine | undefined> => {
    for (;;) {
      const { value } = (await lines?.next()) ?? {};
      const line: InputLine | undefined = value;
      if (!line || line.number >= number) return line;
      if (!isEmptyLine(line)) missing.add(line.number);
    }
  };
  return {
    merged,
    add: async ({ line: number, exitCode, applied }: Omit<ResultEntry, 'checkpoint'>, digest: string) => {
      const { status, isUnresolved } = classifyLine(exitCode, applied);
      merged.counts[status] += 1;
      if (status === 'failed' && isUnresolved) merged.failedApplied += 1;
      if (lines) {
        const line = await readTo(number);
        if (!line || isEmptyLine(line)) removed.add(number);
        else if (digestInputLine(line) !== digest) changed.add(number);
      } else if (merged.lastLine + 1 < number) missing.add(merged.lastLine + 1, number - 1);
      merged.lastLine = number;
    },
    finish: async (): Promise<void> => {
      if (!input) return;
      await readTo(Number.POSITIVE_INFINITY);
      const texts = { changed: changed.format(), removed: removed.format() };
      const hint = isTableName(input.label)
        ? `name a table that --rows sent with --join ${shellWord(input.label)} --columns answer=text, without --input`
        : 'name the input of that batch with --input';
      requireSameInput(input, texts, 'the merged output', hint);
    },
    close: async (): Promise<void> => {
      await lines?.return?.();
    },
  };
}

const BUFFER_BYTES = 256 * 1024;

// Reads files one after the other in chunks of whole lines, up to a position. All share a buffer, and a chunk is valid until the
// next one: buffers of 200 outputs would be garbage that is collected late.
function createReader(): Reader {
  let buffer = Buffer.allocUnsafe(BUFFER_BYTES);
  return async function* read(
    { path, displayPath }: OutputPath,
    end = Number.POSITIVE_INFINITY,
  ): AsyncGenerator<Buffer, undefined> {
    const file = await withFileFailure('read', displayPath, () => open(path));
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
  };
}
