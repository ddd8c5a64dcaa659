import { Buffer } from 'node:buffer';
import { type FileHandle, open } from 'node:fs/promises';
import { withFileFailure } from '../files/file-errors.ts';
import { tryParseJson } from '../json/parse-json.ts';
import { createSpacedSample, type SpacedSample } from '../results/distribution.ts';
import { resultText, truncateSample } from './batch-report.ts';
import type { IndexedResult, LineTable } from './line-table.ts';
import type { OutputPath } from './output-file.ts';
import { resultLineFacts } from './result-line.ts';

/** An output whose results are in a table. */
export interface IndexedOutput extends OutputPath {
  readonly table: LineTable;
}

/** How a line of the second output differs: it is not done only there, is done only there, or has another text. */
export type LineChange = 'worse' | 'better' | 'different';

interface ChangedLine {
  readonly line: number;
  /** The failure or the response in the first output, and in the second one. */
  readonly before: string;
  readonly after: string;
}

export interface Comparison {
  /** Lines with a result in both outputs. */
  readonly compared: number;
  readonly onlyFirst: number;
  readonly onlySecond: number;
  readonly changes: Readonly<Record<LineChange, SpacedSample<ChangedLine>>>;
}

const MAX_CHANGED_LINES = 50;

/** Compares the results of two outputs line by line. Throws Failure `local_file` if one cannot be read. */
export async function compareOutputs(outputs: readonly [IndexedOutput, IndexedOutput]): Promise<Comparison> {
  const [first, second] = outputs;
  const sample = (): SpacedSample<ChangedLine> => createSpacedSample(MAX_CHANGED_LINES);
  const changes = { worse: sample(), better: sample(), different: sample() };
  const handles: FileHandle[] = [];
  const counts = { compared: 0, onlyFirst: 0, onlySecond: 0 };
  try {
    for (const { path, displayPath } of outputs)
      handles.push(await withFileFailure(`read ${displayPath}`, () => open(path)));
    const lastLine = Math.max(first.table.lastLine(), second.table.lastLine());
    for (let line = 1; line <= lastLine; line += 1) {
      const results = outputs.map(({ table }) => table.result(line));
      if (results[0] || results[1])
        counts[results[0] && results[1] ? 'compared' : results[0] ? 'onlyFirst' : 'onlySecond'] += 1;
      if (!results[0] || !results[1]) continue;
      const [before, after] = results.map((result) => result?.exitCode === 0);
      const [was = '', is = ''] = await Promise.all(
        results.map((result, at) =>
          withFileFailure(`read ${outputs[at]?.displayPath}`, () => readText(handles[at], result)),
        ),
      );
      if (before !== after) changes[before ? 'worse' : 'better'].add(() => describeChange(line, was, is));
      else if (was !== is) changes.different.add(() => describeChange(line, was, is));
    }
  } finally {
    for (const handle of handles) await handle.close();
  }
  return { ...counts, changes };
}

function describeChange(line: number, before: string, after: string): ChangedLine {
  return { line, before: truncateSample(before), after: truncateSample(after) };
}

async function readText(handle: FileHandle | undefined, result: IndexedResult | undefined): Promise<string> {
  if (!handle || !result) return '';
  const { buffer } = await handle.read(Buffer.alloc(result.length), 0, result.length, result.offset);
  return resultText(resultLineFacts(tryParseJson(buffer)));
}
